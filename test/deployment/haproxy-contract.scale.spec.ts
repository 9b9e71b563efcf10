/** @jest-environment ./test/support/jest/expected-failures.mjs */
import { describe, expect, it } from '@jest/globals';
import { type ContractTarget, runningTarget } from '../contract/contract-target.js';
import { describeStandalone } from '../contract/describe-contract.js';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { connectTo, startStore } from '../support/service/store.js';
import { until } from '../support/until.js';

/** HAProxy answers these itself, before its configuration counts: with 400, a page of HTML, and the end of the connection. */
const UNREADABLE = [
  // It reads HTTP/1.9 and HTTP/2.0 as HTTP/1.1, and hands them on.
  /no HTTP request should be refused: (?!a request line without a slash)/,
  // It repairs two of them, a folded line and a line without a carriage return, and hands them on.
  /for a header field with (?!U\+0000 in the value|a control character)/,
  // It repairs three of them: equal Content-Lengths become one, and if there is a Transfer-Encoding it drops the length.
  /with two different ends/,
  // Four of them reach the service: it has answered with 40010, or HAProxy does in our form, without X-Request-Id. It repairs a missing carriage return.
  /a chunked body should be refused/,
  /if its chunks are broken too/,
  /malformed request(?: follows another)?: (?:garbage|an unknown transfer coding|two lengths|a broken chunk)/,
  /an answer should be the same for a good request after any of these/,
  // It makes one of two that are equal.
  /the Host should not be repeated/,
  /larger than 16 KiB: many times over/,
  /unknown to HTTP: P\u00d6ST/,
  // A path with a fragment, and an absolute one with another host than Host.
  /#/,
  /http:\/\/other\.example/,
];

/** The service closes its connection; HAProxy says so to the client, and then waits for the rest of the request before it closes. */
const CLOSED_LATER = [
  /Expect: 100-continue should be refused at once/,
  /refused before it is sent if its length says enough/,
  /behind a path larger than 16 KiB/,
];

/** The time that a client has is HAProxy's. If the header fields do not arrive in time, it answers 408 with a page of HTML. */
const OTHER_TIMES = [/does not arrive within 600 ms should be refused/, /with no request in flight/];

Object.assign(globalThis, { EXPECTED_FAILURES: [...UNREADABLE, ...CLOSED_LATER, ...OTHER_TIMES] });

function proxiedStore(variables: Record<string, string>): () => ContractTarget {
  return runningTarget(async () => {
    const store = await startStore(variables);
    const port = await freePort();
    const proxy = await Haproxy.start(port, [store]);
    await until(() => proxy.output.includes('Server plant_store/b is DOWN'));
    return {
      ...store,
      ...connectTo(port, store.basePath),
      stop: async () => {
        await proxy[Symbol.asyncDispose]();
        await store.stop();
      },
    };
  });
}

describeWithHaproxy('Behind HAProxy', () => {
  describeStandalone('contract', proxiedStore);

  describe('what HAProxy cannot read', () => {
    const target = proxiedStore({});

    it.each([
      ['words', () => 'good morning\r\n\r\n'],
      ['two lengths', () => postHead('', '{}', { 'Content-Length': ['2', '3'] })],
      ['no field', () => postHead('', '{}').replace('\r\n', '\r\nX-Field\r\n')],
      ['a fragment', () => postHead('', '{}').replace('/plants', '/plants?a\u0023b')],
    ])('has status 400 and ends the connection: %s', async (_, bytes) => {
      using connection = await RawConnection.open(target().port);
      connection.send(bytes());
      expect(await connection.response()).toMatchObject({ status: 400, headers: { connection: 'close' } });
      expect(await connection.response()).toBeUndefined();
    });
  });

  describe('what HAProxy answers for an instance', () => {
    it('has the form of the service, and its promise', async () => {
      const [port, nobody] = [await freePort(), await freePort()];
      await using proxy = await Haproxy.start(port, [{ port: nobody, managementPort: nobody }]);
      await until(() => proxy.output.includes('no server available'));
      const response = await connectTo(port, '').post('{"id":1,"name":"Rose"}');
      expect(response).toMatchObject({
        status: 400,
        headers: { 'content-type': 'application/json', 'retry-after': '1' },
      });
      expect(JSON.parse(response.body)).toEqual({
        error: 50300,
        message: expect.stringContaining('Nothing was written'),
      });
    });
  });
});
