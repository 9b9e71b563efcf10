import { beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  storedPlants,
} from './contract-target.js';

const ROSE = '{"id": 1, "name": "Rose"}';
const FERN = '{"id": 2, "name": "Fern"}';
const LIMIT = 1024 * 1024;

const REFUSED: [error: number, body: string, headers: RequestHeaders][] = [
  [40001, '', {}],
  [40001, '[]', {}],
  [40002, '{', {}],
  [40003, '{}', {}],
  [40004, FERN, { 'Idempotency-Key': '' }],
  [40100, FERN, { Authorization: undefined }],
  [40101, FERN, { Authorization: 'Bearer wrong' }],
  [40102, FERN, { Authorization: 'Bearer' }],
  [40901, ROSE, {}],
  [40902, '{"id": 1, "name": "Dahlia"}', { 'Idempotency-Key': 'key' }],
  [41300, ' '.repeat(LIMIT + 1), {}],
  [41300, ' '.repeat(20 * LIMIT), {}],
  [41500, FERN, { 'Content-Type': 'text/plain' }],
  [41500, FERN, { 'Content-Encoding': 'zstd' }],
];

const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
const BAD_TOKEN = { Authorization: 'Bearer wrong' };

/** Refusals that close the connection, or would, before all of the body has been read. */
const UNREAD: [what: string, error: number, version: string, headers: RequestHeaders][] = [
  ['a bad token', 40101, '1.1', BAD_TOKEN],
  ['a bad token, chunked', 40101, '1.1', { ...BAD_TOKEN, ...CHUNKED }],
  ['a bad token, closing', 40101, '1.1', { ...BAD_TOKEN, Connection: 'close' }],
  ['a bad token, closing and chunked', 40101, '1.1', { ...BAD_TOKEN, ...CHUNKED, Connection: 'close' }],
  ['a bad token in HTTP/1.0', 40101, '1.0', BAD_TOKEN],
  ['a good token', 41300, '1.1', {}],
  ['a good token, chunked', 41300, '1.1', CHUNKED],
  ['a good token, closing', 41300, '1.1', { Connection: 'close' }],
  ['a good token, closing and chunked', 41300, '1.1', { ...CHUNKED, Connection: 'close' }],
  ['a good token in HTTP/1.0', 41300, '1.0', {}],
  ['no Host', 40010, '1.1', { Host: undefined }],
  ['an unknown expectation', 40010, '1.1', { Expect: 'x' }],
  ['an impatient expectation', 40101, '1.1', { ...BAD_TOKEN, Expect: '100-continue' }],
];

export function describeConnections(target: () => ContractTarget): void {
  const post = (body: string, headers?: RequestHeaders): string => postHead(target().basePath, body, headers) + body;

  describe('a connection', () => {
    beforeEach(() => target().post(ROSE, { 'Idempotency-Key': 'key' }));

    it.each(REFUSED)('should carry the next request after %d', async (error, body, headers) => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(body, headers));
      const response = await expectAnswers(target(), connection, error);
      expect(response?.headers.connection).not.toBe('close');
      connection.send(post(FERN));
      await expectAnswers(target(), connection, 'Fern');
    });

    it.each([
      ['an unknown path', 'POST', '/plant', 40400],
      ['a path that does not decode', 'POST', '/%', 40400],
      ['another method', 'PUT', '/plants', 40500],
    ])('should carry the next request after %s', async (_, method, path, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(FERN).replace(`POST ${target().basePath}/plants`, `${method} ${target().basePath}${path}`));
      await expectAnswers(target(), connection, error);
      connection.send(post(FERN));
      await expectAnswers(target(), connection, 'Fern');
    });

    it('should carry a hundred requests', async () => {
      using connection = await RawConnection.open(target().port);
      for (let id = 100; id < 200; id++) {
        connection.send(post(`{"id": ${id}, "name": "Plant ${id}"}`));
        await expectAnswers(target(), connection, `Plant ${id}`);
      }
      expect(await storedPlants(target())).toHaveLength(101);
    });

    it.each([
      ['a plant', FERN, 'Fern'],
      ['a refusal', ROSE, 40901],
    ])('should be closed behind %s if the client asks for it', async (_, body, answer) => {
      const response = await exchange(target(), post(body, { Connection: 'close' }), answer, CLOSED);
      expect(response?.headers.connection).toBe('close');
    });

    it('should be kept in HTTP/1.0 if the client asks for it', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(ROSE, { Connection: 'keep-alive' }).replace('HTTP/1.1', 'HTTP/1.0'));
      await expectAnswers(target(), connection, 40901);
      connection.send(post(FERN));
      await expectAnswers(target(), connection, 'Fern');
    });

    describe.each([7_900_000, 20_000_000])('whose client reads only behind a body of %d bytes', (length) => {
      it.each(UNREAD)('should carry the answer: %s', async (_, error, version, headers) => {
        using connection = await RawConnection.open(target().port);
        connection.socket.pause();
        const body = Buffer.alloc(length, ' ');
        const framed = 'Transfer-Encoding' in headers ? [`${length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
        connection.send(postHead(target().basePath, body, headers).replace('HTTP/1.1', `HTTP/${version}`), ...framed);
        while (connection.socket.writableLength > 0) await once(connection.socket, 'drain');
        connection.socket.resume();
        await expectAnswers(target(), connection, error);
      });
    });

    it('should carry out nothing behind a body that is too large to be thrown away', async () => {
      using connection = await RawConnection.open(target().port);
      const body = Buffer.alloc(70_000_000, ' ');
      connection.send(postHead(target().basePath, body), body, post(FERN));
      await expectAnswers(target(), connection, 41300);
      await connection.closed();
      expectCreated(await target().post('{"id": 3, "name": "Moss"}'), { name: 'Moss' });
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }, { name: 'Moss' }]);
    });

    it('should still carry the answer if the client has nothing more to say', async () => {
      using connection = await RawConnection.open(target().port);
      connection.socket.end(post(FERN));
      await expectAnswers(target(), connection, 'Fern', CLOSED);
    });

    it('should write nothing if it ends before the body does', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(post(FERN).slice(0, -1));
      connection.socket.end();
      await connection.closed();
      expect(await storedPlants(target())).toMatchObject([{ id: '1' }]);
    });

    it('should do no harm if it breaks at any moment', async () => {
      const bytes = post(FERN, { Authorization: 'Bearer wrong' });
      for (const end of [1, 20, bytes.length - 10, bytes.length]) {
        using connection = await RawConnection.open(target().port);
        connection.send(bytes.slice(0, end));
        connection.socket.resetAndDestroy();
      }
      expectCreated(await target().post(FERN), { name: 'Fern' });
    });
  });
}
