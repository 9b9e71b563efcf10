import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const GIGABYTE = '1000000000';
const NO_KEY = { 'Idempotency-Key': '' };
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** Requests with every other kind of fault. */
const FAULTY: [fault: string, body: string | Buffer, headers: RequestHeaders][] = [
  ['no body', '', {}],
  ['broken JSON', '{"id": 1, "name"', {}],
  ['invalid UTF-8', Buffer.of(0xff), {}],
  ['wrong fields', '{"id": "x"}', {}],
  ['a wrong media type', 'x', { 'Content-Type': 'text/plain' }],
  ['a compressed body', 'x', { 'Content-Encoding': 'gzip' }],
  ['an empty Idempotency-Key', '{"id": 1, "name": "Rose"}', { 'Idempotency-Key': '' }],
  ['a body that is too large', Buffer.alloc(2 * 1024 * 1024, ' '), {}],
];

const CREDENTIALS: [credential: string, authorization: string | undefined, error: number][] = [
  ['no credential', undefined, 40100],
  ['a wrong token', 'Bearer wrong', 40101],
  ['a malformed credential', 'Bearer', 40102],
];

/** Faults in the order in which they are to be found: each request has its own and all that come after. */
const IN_ORDER: [error: number, body: string, headers: RequestHeaders][] = [
  [41500, ' '.repeat(2 * 1024 * 1024), { 'Content-Type': 'text/plain', ...NO_KEY }],
  [41500, ' '.repeat(2 * 1024 * 1024), { 'Content-Encoding': 'gzip', ...NO_KEY }],
  [41300, '{"id": "x",'.padEnd(2 * 1024 * 1024), NO_KEY],
  [40002, '{"id": "x",', NO_KEY],
  [40001, '[]', NO_KEY],
  [40004, '{"id": 1, "name": null}', NO_KEY],
  [40003, '{"id": 1, "name": null}', {}],
];

export function describeOrderOfChecks(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe.each(CREDENTIALS)('a request with %s', (_, authorization, error) => {
    const Authorization = authorization;

    it.each(FAULTY)('should be refused for that, not for %s', async (_fault, body, headers) => {
      await expectNothingWritten(target(), await target().post(body, { Authorization, ...headers }), error);
    });

    it.each([
      ['of a length', { 'Content-Length': '100' }],
      ['of a gigabyte', { 'Content-Length': GIGABYTE }],
      ['in chunks', CHUNKED],
    ])('should be refused before its body is sent: %s', async (_body, headers) => {
      const response = await target().raw(postHead(target().basePath, '', { Authorization, ...headers }));
      expectRefusal(response, error, target().errorStatus);
    });

    it('should not end the connection for the body that follows', async () => {
      using connection = await RawConnection.open(target().port);
      const plant = '{"id": 1, "name": "Rose"}';
      connection.send(postHead(target().basePath, plant, { Authorization }));
      expectRefusal(await connection.response(), error, target().errorStatus);
      connection.send(plant, postHead(target().basePath, plant), plant);
      expectCreated(await connection.response(), { name: 'Rose' });
    });
  });

  describe('a request with a credential and several faults', () => {
    it.each(IN_ORDER)('should be refused for the first, %d', async (error, body, headers) => {
      // Every one of them would also be refused for its id.
      expectCreated(await target().post('{"id": 1, "name": "Rose"}'), { name: 'Rose' });
      expectRefusal(await target().post(body, headers), error, target().errorStatus);
    });
  });
}

/** For servers that answer what Node would refuse by itself. */
export function describeOrderInBrokenRequests(target: () => ContractTarget): void {
  it.each(CREDENTIALS)(
    'should refuse a request with %s for that if its chunks are broken too',
    async (_, Authorization, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(`${postHead(target().basePath, '', { Authorization, ...CHUNKED })}zz\r\n`);
      expectRefusal(await connection.response(), error, target().errorStatus);
      expect(await connection.response()).toBeUndefined();
    },
  );
}
