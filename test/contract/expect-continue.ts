import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Rose"}';

const REFUSED: [what: string, headers: RequestHeaders, error: number][] = [
  ['no credential', { Authorization: undefined }, 40100],
  ['a wrong token', { Authorization: 'Bearer wrong' }, 40101],
  ['a malformed credential', { Authorization: 'Bearer' }, 40102],
  ['a wrong media type', { 'Content-Type': 'text/plain' }, 41500],
  ['an unknown encoding', { 'Content-Encoding': 'zstd' }, 41500],
  ['a body that is too large', { 'Content-Length': '2000000' }, 41300],
  ['a body that is far too large', { 'Content-Length': '2000000000' }, 41300],
];

export function describeExpectContinue(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe('Expect: 100-continue', () => {
    it.each(['100-continue', '100-Continue'])('should be answered before the body is sent: %s', async (expectation) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Expect: expectation }));
      expect(await connection.response()).toEqual({ status: 100, headers: {}, body: '' });
      connection.send(PLANT);
      expectCreated(await connection.response(), { name: 'Rose' });
      connection.send(postHead(target().basePath, PLANT), PLANT);
      expectRefusal(await connection.response(), 40901, target().errorStatus);
    });

    it('should be answered if the body does not wait', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Expect: '100-continue' }), PLANT);
      expect(await connection.response()).toMatchObject({ status: 100 });
      expectCreated(await connection.response(), { name: 'Rose' });
    });

    it('should be answered for a body that is refused for what it holds', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '[]', { Expect: '100-continue' }));
      expect(await connection.response()).toMatchObject({ status: 100 });
      connection.send('[]');
      expectRefusal(await connection.response(), 40001, target().errorStatus);
      connection.send(postHead(target().basePath, PLANT), PLANT);
      expectCreated(await connection.response(), { name: 'Rose' });
    });

    it.each(REFUSED)('should be refused at once for %s', async (_, headers, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Expect: '100-continue', ...headers }));
      const response = await connection.response();
      await expectNothingWritten(target(), response, error);
      // Nobody knows whether the body follows or the next request.
      expect(response?.headers.connection).toBe('close');
      expect(await connection.response()).toBeUndefined();
    });

    it('should be ignored in an HTTP/1.0 request', async () => {
      const head = postHead(target().basePath, PLANT, { Expect: '100-continue' }).replace('HTTP/1.1', 'HTTP/1.0');
      expectCreated(await target().raw(head, PLANT), { name: 'Rose' });
    });
  });

  describe('any other Expect', () => {
    it.each(['200-ok', '100-continued', 'x', ''])('should be refused: %j', async (expectation) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Expect: expectation }), PLANT);
      const response = await connection.response();
      const message = await expectNothingWritten(target(), response, 40010);
      expect(message).toContain(`"${expectation}"`);
      expect(message).toContain('"100-continue"');
      expect(await connection.response()).toBeUndefined();
    });

    it('should be refused with or without a credential', async () => {
      const response = await target().post(PLANT, { Authorization: undefined, Expect: 'x' });
      await expectNothingWritten(target(), response, 40010);
    });
  });
}
