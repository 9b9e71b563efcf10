import { beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { CHUNKED, postHead, RawConnection, type RequestHeaders } from '../support/http/request.js';
import {
  type Answer,
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

type Post = (body: string, headers?: RequestHeaders) => string;
const postTo =
  (target: () => ContractTarget): Post =>
  (body, headers) =>
    postHead(target().basePath, body, headers) + body;

/** While there is a plant 1, with a key. */
const REFUSED: [error: number, bytesOf: (post: Post) => string][] = [
  [40001, (post) => post('')],
  [40002, (post) => post('{')],
  [40003, (post) => post('{}')],
  [40004, (post) => post(FERN, { 'Idempotency-Key': '' })],
  [40100, (post) => post(FERN, { Authorization: undefined })],
  [40101, (post) => post(FERN, { Authorization: 'Bearer wrong' })],
  [40102, (post) => post(FERN, { Authorization: 'Bearer' })],
  [40400, (post) => post(FERN).replace('/plants', '/%')],
  [40500, (post) => post(FERN).replace('POST', 'PUT')],
  [40901, (post) => post(ROSE)],
  [40902, (post) => post('{"id": 1, "name": "Dahlia"}', { 'Idempotency-Key': 'key' })],
  [41300, (post) => post(' '.repeat(LIMIT + 1))],
  [41500, (post) => post(FERN, { 'Content-Type': 'text/plain' })],
];

const BAD_TOKEN = { Authorization: 'Bearer wrong' };
const CLOSING = { Connection: 'close' };

/** Refusals that close the connection, or would, before all of the body has been read. */
const UNREAD: [error: number, version: string, headers: RequestHeaders][] = [
  [40101, '1.1', BAD_TOKEN],
  [40101, '1.1', { ...BAD_TOKEN, ...CLOSING }],
  [40101, '1.1', { ...BAD_TOKEN, ...CHUNKED, ...CLOSING }],
  [40101, '1.0', BAD_TOKEN],
  [40101, '1.1', { ...BAD_TOKEN, Expect: '100-continue' }],
  [41300, '1.1', {}],
  [41300, '1.1', { ...CHUNKED, ...CLOSING }],
  [41300, '1.0', {}],
  [40010, '1.1', { Host: undefined }],
  [40010, '1.1', { Expect: 'x' }],
];

export function describeConnections(target: () => ContractTarget): void {
  const post = postTo(target);

  describe('a connection', () => {
    beforeEach(() => target().post(ROSE, { 'Idempotency-Key': 'key' }));

    it('should carry the next request after any answer', async () => {
      using connection = await RawConnection.open(target().port);
      for (const [at, [error, bytesOf]] of REFUSED.entries()) {
        connection.send(bytesOf(post));
        const response = await expectAnswers(target(), connection, error);
        expect(response?.headers.connection).not.toBe('close');
        connection.send(post(`{"id": ${at + 10}, "name": "Plant ${at}"}`));
        await expectAnswers(target(), connection, `Plant ${at}`);
      }
    });

    it.each([
      [FERN, 'Fern'],
      [ROSE, 40901],
    ])('should be closed behind an answer if the client asks for it: %s', async (body, answer) => {
      const response = await exchange(target(), post(body, CLOSING), answer, CLOSED);
      expect(response?.headers.connection).toBe('close');
    });

    it('should be kept in HTTP/1.0 if the client asks for it', async () => {
      const old = post(ROSE, { Connection: 'keep-alive' }).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), old + post(FERN), 40901, 'Fern');
    });

    it.each(UNREAD)(
      'should carry a %d to a client that reads only behind a large body: HTTP/%s %j',
      async (...unread) => {
        const [error, version, headers] = unread;
        using connection = await RawConnection.open(target().port);
        connection.socket.pause();
        const body = Buffer.alloc(20_000_000, ' ');
        const framed =
          'Transfer-Encoding' in headers ? [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
        connection.send(postHead(target().basePath, body, headers).replace('HTTP/1.1', `HTTP/${version}`), ...framed);
        while (connection.socket.writableLength > 0) await once(connection.socket, 'drain');
        connection.socket.resume();
        await expectAnswers(target(), connection, error);
      },
    );

    it('should carry out nothing behind a body that is too large to be thrown away', async () => {
      using connection = await RawConnection.open(target().port);
      const body = Buffer.alloc(70_000_000, ' ');
      connection.send(postHead(target().basePath, body), body, post(FERN));
      await expectAnswers(target(), connection, 41300);
      await connection.closed();
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });

    it('should still carry the answer if the client has nothing more to say', async () => {
      using connection = await RawConnection.open(target().port);
      connection.socket.end(post(FERN));
      await expectAnswers(target(), connection, 'Fern', CLOSED);
    });

    it('should write nothing if it ends before the body does, and do no harm if it breaks', async () => {
      const bytes = post(FERN);
      using ending = await RawConnection.open(target().port);
      ending.socket.end(bytes.slice(0, -1));
      await ending.closed();
      for (const end of [1, 20, bytes.length - 10]) {
        using connection = await RawConnection.open(target().port);
        connection.send(bytes.slice(0, end));
        connection.socket.resetAndDestroy();
      }
      expectCreated(await target().post(FERN), { name: 'Fern' });
    });
  });
}

/** Requests that end their connection. */
const MALFORMED: [kind: string, error: number, bytesOf: (post: Post) => string][] = [
  ['garbage', 40010, () => 'garbage\r\n\r\n'],
  ['no Host', 40010, (post) => post(FERN, { Host: undefined })],
  ['two lengths', 40010, (post) => post(FERN, { 'Transfer-Encoding': 'chunked' })],
  ['a broken chunk', 40010, (post) => `${post('', CHUNKED)}zz\r\n`],
  ['an unknown expectation', 40010, (post) => post(FERN, { Expect: 'x' })],
  ['a large header', 43100, (post) => post(FERN, { 'X-Field': 'x'.repeat(17_000) })],
  ['CONNECT', 40500, () => 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
];

export function describePipelining(target: () => ContractTarget): void {
  const post = postTo(target);

  describe('pipelined requests', () => {
    it('should be answered in order, good ones and refused ones', async () => {
      const names = Array.from({ length: 20 }, (_, i) => `Plant ${i}`);
      const requests = names.map((name, id) => post(`{"id": ${id}, "name": "${name}"}`) + post('[]'));
      await exchange(target(), requests.join(''), ...names.flatMap((name) => [name, 40001]));
      expect(await storedPlants(target())).toHaveLength(20);
    });

    it.each(MALFORMED)(
      'should lose no answer before a malformed one, and not be read behind it: %s',
      async (...row) => {
        const [, error, bytesOf] = row;
        for (const [, , otherBytesOf] of MALFORMED)
          await exchange(target(), bytesOf(post) + otherBytesOf(post) + post(FERN), error, CLOSED);
        await exchange(target(), post(ROSE) + post('[]') + bytesOf(post) + post(FERN), 'Rose', 40001, error, CLOSED);
        expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
      },
    );

    it('should not be answered behind the one that closes the connection', async () => {
      await exchange(target(), post(ROSE, CLOSING) + post(FERN), 'Rose', CLOSED);
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });
  });
}

/** @param milliseconds that the target gives a request to arrive: few, for they pass in every test */
export function describeTimeouts(target: () => ContractTarget, milliseconds: number): void {
  const post = postTo(target);

  async function expectTimeout(bytes: string, ...before: Answer[]): Promise<void> {
    const response = await exchange(target(), bytes, ...before, 40800, CLOSED);
    expect(response?.body).toContain(`${milliseconds} ms`);
    expect(response?.headers.connection).toBe('close');
  }

  it(`should refuse a request that has not arrived within ${milliseconds} ms, wherever it stops`, async () => {
    // In the request line, in a header field, behind the head, and within the body.
    const beginnings = ['POST /pla', 'POST /plants HTTP/1.1\r\nHost: loc', postHead(target().basePath, ROSE)];
    beginnings.push(
      post(ROSE).slice(0, -10),
      `${post('', CHUNKED)}19\r\n{"id"`,
      `${post('', CHUNKED)}19\r\n${ROSE}\r\n`,
    );
    const others = post('[]') + post('{}');
    await Promise.all([
      ...beginnings.map((beginning) => expectTimeout(beginning)),
      ...beginnings.map((beginning) => expectTimeout(others + beginning, 40001, 40003)),
      expectTimeout(postHead(target().basePath, ROSE, { Expect: '100-continue' }), 100),
      exchange(target(), postHead(target().basePath, ROSE, { Authorization: undefined }), 40100, CLOSED),
    ]);
    expect(await storedPlants(target())).toEqual([]);
  });

  it('should refuse one that has not arrived though it never stops', async () => {
    const endless = ['POST /plants HTTP/1.1\r\nX-Slow: ', postHead(target().basePath, ' '.repeat(100))];
    await Promise.all(
      endless.map(async (beginning) => {
        using connection = await RawConnection.open(target().port);
        connection.send(beginning);
        const drip = setInterval(() => {
          connection.send(' ');
        }, milliseconds / 10);
        await expectAnswers(target(), connection, 40800, CLOSED).finally(() => {
          clearInterval(drip);
        });
      }),
    );
  });

  it('should keep a connection without a request after an answer, and else close it without a word', async () => {
    using idle = await RawConnection.open(target().port);
    idle.send(post(ROSE));
    await expectAnswers(target(), idle, 'Rose');
    // By the time this one is refused, the other has been idle for longer.
    await Promise.all([exchange(target(), 'POST /pla', 40800), exchange(target(), '', CLOSED)]);
    idle.send(post(FERN));
    await expectAnswers(target(), idle, 'Fern');
  });
}
