import { describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
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

const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

type Post = (body: string, headers?: RequestHeaders) => string;
const postTo =
  (target: () => ContractTarget): Post =>
  (body, headers) =>
    postHead(target().basePath, body, headers) + body;

/** Requests that end their connection. */
const MALFORMED: [kind: string, error: number, bytesOf: (post: Post) => string][] = [
  ['garbage', 40010, () => 'garbage\r\n\r\n'],
  ['no Host', 40010, (post) => post(FERN, { Host: undefined })],
  ['an unknown transfer coding', 40010, (post) => post(FERN, { ...CHUNKED, 'Transfer-Encoding': 'gzip, chunked' })],
  ['two lengths', 40010, (post) => post(FERN, { 'Transfer-Encoding': 'chunked' })],
  ['a broken chunk', 40010, (post) => `${post('', CHUNKED)}zz\r\n`],
  ['an unknown expectation', 40010, (post) => post(FERN, { Expect: 'x' })],
  ['a large header', 43100, (post) => post(FERN, { 'X-Field': 'x'.repeat(17_000) })],
  ['CONNECT', 40500, () => 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
];

export function describePipelining(target: () => ContractTarget): void {
  const post = postTo(target);

  describe('pipelined requests', () => {
    it('should be answered in order', async () => {
      const names = Array.from({ length: 20 }, (_, i) => `Plant ${i}`);
      const requests = names.map((name, id) => post(`{"id": ${id}, "name": "${name}"}`));
      await exchange(target(), requests.join(''), ...names);
      expect(await storedPlants(target())).toHaveLength(20);
    });

    it('should be answered in order, good ones and refused ones', async () => {
      const refused = [
        post('[]'),
        post(FERN, { Authorization: undefined }),
        post('x', { 'Content-Type': 'text/plain' }),
        post(FERN).replace('/plants', '/other'),
        post(' '.repeat(1024 * 1024 + 1)),
      ];
      const bytes = post(ROSE) + refused.join('') + post(FERN);
      await exchange(target(), bytes, 'Rose', 40001, 40100, 41500, 40400, 41300, 'Fern');
    });

    it.each(MALFORMED)('should not lose an answer before a malformed request: %s', async (_, error, bytesOf) => {
      await exchange(target(), post(ROSE) + post('[]') + bytesOf(post), 'Rose', 40001, error, CLOSED);
    });

    it.each(MALFORMED)('should not be read behind a malformed request: %s', async (_, error, bytesOf) => {
      await exchange(target(), bytesOf(post) + post(FERN) + post('{"id": 3, "name": "Moss"}'), error, CLOSED);
      expectCreated(await target().post(ROSE), { name: 'Rose' });
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });

    const once = 'should be answered once if one malformed request follows another: %s';
    it.each(MALFORMED)(once, async (_, error, bytesOf) => {
      for (const [, , otherBytesOf] of MALFORMED)
        await exchange(target(), bytesOf(post) + otherBytesOf(post), error, CLOSED);
    });

    it('should not be answered behind the one that closes the connection', async () => {
      await exchange(target(), post(ROSE, { Connection: 'close' }) + post(FERN), 'Rose', CLOSED);
      expect(await storedPlants(target())).toMatchObject([{ name: 'Rose' }]);
    });
  });
}

/** @param milliseconds that the target gives a request to arrive: few, for they pass in every test */
export function describeTimeouts(target: () => ContractTarget, milliseconds: number): void {
  const post = postTo(target);

  /** Requests that stop in the request line, in a header field, before the empty line, behind it, and within the body. */
  const beginnings = (): string[] => [
    'POST /pla',
    'POST /plants HTTP/1.1\r\nHost: loc',
    post(ROSE).split('\r\n\r\n')[0] ?? '',
    postHead(target().basePath, ROSE),
    post(ROSE).slice(0, -10),
    `${postHead(target().basePath, '', CHUNKED)}19\r\n{"id"`,
    `${postHead(target().basePath, '', CHUNKED)}19\r\n${ROSE}\r\n`,
  ];

  describe(`a request that does not arrive within ${milliseconds} ms`, () => {
    async function expectTimeout(connection: RawConnection, ...before: Answer[]): Promise<void> {
      const response = await expectAnswers(target(), connection, ...before, 40800, CLOSED);
      expect(response?.body).toContain(`${milliseconds} ms`);
      expect(response?.headers.connection).toBe('close');
    }

    async function expectTimeoutBehind(bytes: string, ...before: Answer[]): Promise<void> {
      using connection = await RawConnection.open(target().port);
      connection.send(bytes);
      await expectTimeout(connection, ...before);
    }

    it('should be refused at any place where it stops', async () => {
      await Promise.all(beginnings().map((beginning) => expectTimeoutBehind(beginning)));
      expect(await storedPlants(target())).toEqual([]);
    });

    it('should be refused behind answers to others', async () => {
      const others = post('[]') + post('{}');
      await Promise.all(beginnings().map((beginning) => expectTimeoutBehind(others + beginning, 40001, 40003)));
    });

    it('should be refused though it never stops', async () => {
      const endless = ['POST /plants HTTP/1.1\r\nX-Slow: ', postHead(target().basePath, ' '.repeat(1000))];
      await Promise.all(
        endless.map(async (beginning) => {
          using connection = await RawConnection.open(target().port);
          connection.send(beginning);
          const drip = setInterval(() => {
            connection.send(' ');
          }, milliseconds / 10);
          try {
            await expectTimeout(connection);
          } finally {
            clearInterval(drip);
          }
        }),
      );
    });

    it('should be refused if it waited for a 100 and then sends nothing', async () => {
      await expectTimeoutBehind(postHead(target().basePath, ROSE, { Expect: '100-continue' }), 100);
    });

    it('should be refused for its credential at once, and its connection closed', async () => {
      await exchange(target(), postHead(target().basePath, ROSE, { Authorization: undefined }), 40100, CLOSED);
    });
  });

  describe('a connection with no request in flight', () => {
    it('should be kept after an answer', async () => {
      using idle = await RawConnection.open(target().port);
      idle.send(post(ROSE));
      await expectAnswers(target(), idle, 'Rose');
      // By the time this one is refused, the other has been idle for longer.
      await exchange(target(), 'POST /pla', 40800);
      idle.send(post(FERN));
      await expectAnswers(target(), idle, 'Fern');
    });

    it('should be closed without a word if it never had one', async () => {
      await exchange(target(), '', CLOSED);
    });
  });
}
