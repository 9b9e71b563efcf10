import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { removePlants, storedPlants } from './stored-plants.js';

const ROSE = '{"id": 1, "name": "Rose"}';
const FERN = '{"id": 2, "name": "Fern"}';

const MALFORMED: [kind: string, error: number][] = [
  ['garbage', 40010],
  ['no Host', 40010],
  ['an unknown transfer coding', 40010],
  ['two lengths', 40010],
  ['a broken chunk', 40010],
  ['an unknown expectation', 40010],
  ['a large header', 43100],
  ['CONNECT', 40500],
];

export function describePipelining(target: () => ContractTarget): void {
  const post = (body: string, headers?: RequestHeaders): string => postHead(target().basePath, body, headers) + body;

  /** The bytes of a request that ends its connection. */
  function malformed(kind: string): string {
    switch (kind) {
      case 'garbage':
        return 'garbage\r\n\r\n';
      case 'no Host':
        return post(FERN, { Host: undefined });
      case 'an unknown transfer coding':
        return post(FERN, { 'Content-Length': undefined, 'Transfer-Encoding': 'gzip, chunked' });
      case 'two lengths':
        return post(FERN, { 'Transfer-Encoding': 'chunked' });
      case 'a broken chunk':
        return `${postHead(target().basePath, '', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' })}zz\r\n`;
      case 'an unknown expectation':
        return post(FERN, { Expect: 'x' });
      case 'a large header':
        return post(FERN, { 'X-Field': 'x'.repeat(17_000) });
      default:
        return 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n';
    }
  }

  describe('pipelined requests', () => {
    beforeEach(() => removePlants(target()));

    it('should be answered in order', async () => {
      using connection = await RawConnection.open(target().port);
      const bodies = Array.from({ length: 20 }, (_, i) => `{"id": ${i}, "name": "Plant ${i}"}`);
      connection.send(bodies.map((body) => post(body)).join(''));
      for (const [i] of bodies.entries()) expectCreated(await connection.response(), { name: `Plant ${i}` });
      expect(await storedPlants(target())).toHaveLength(20);
    });

    it('should be answered in order, good ones and refused ones', async () => {
      using connection = await RawConnection.open(target().port);
      const refused = [
        post('[]'),
        post(FERN, { Authorization: undefined }),
        post('x', { 'Content-Type': 'text/plain' }),
        post(FERN).replace('/plants', '/other'),
        post(' '.repeat(1024 * 1024 + 1)),
      ];
      connection.send(post(ROSE) + refused.join('') + post(FERN));
      expectCreated(await connection.response(), { name: 'Rose' });
      for (const error of [40001, 40100, 41500, 40400, 41300]) {
        expectRefusal(await connection.response(), error, target().errorStatus);
      }
      expectCreated(await connection.response(), { name: 'Fern' });
    });

    it.each(MALFORMED)('should not lose an answer before a malformed request: %s', async (kind, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(ROSE) + post('[]') + malformed(kind));
      expectCreated(await connection.response(), { name: 'Rose' });
      expectRefusal(await connection.response(), 40001, target().errorStatus);
      expectRefusal(await connection.response(), error, target().errorStatus);
      expect(await connection.response()).toBeUndefined();
    });

    it.each(MALFORMED)('should not be read behind a malformed request: %s', async (kind, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(malformed(kind) + post(FERN) + post('{"id": 3, "name": "Moss"}'));
      expectRefusal(await connection.response(), error, target().errorStatus);
      expect(await connection.response()).toBeUndefined();
      expectCreated(await target().post(ROSE), { name: 'Rose' });
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });

    it.each(MALFORMED)('should be answered once if one malformed request follows another: %s', async (kind, error) => {
      for (const [other] of MALFORMED) {
        using connection = await RawConnection.open(target().port);
        connection.send(malformed(kind) + malformed(other));
        expectRefusal(await connection.response(), error, target().errorStatus);
        expect(await connection.response()).toBeUndefined();
      }
    });

    it('should not be answered behind the one that closes the connection', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(ROSE, { Connection: 'close' }) + post(FERN));
      expectCreated(await connection.response(), { name: 'Rose' });
      expect(await connection.response()).toBeUndefined();
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });
  });
}
