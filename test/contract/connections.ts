import { beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { CHUNKED, postHead, RawConnection, type RequestHeaders } from '../support/http/request.js';
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

const BAD_TOKEN = { Authorization: 'Bearer wrong' };
const CLOSING = { Connection: 'close' };

/** Refusals before all of the body has been read. All but the first two close the connection. */
const UNREAD: [error: number, version: string, headers: RequestHeaders][] = [
  [40101, '1.1', BAD_TOKEN],
  [41300, '1.1', CHUNKED],
  [40101, '1.1', { ...BAD_TOKEN, ...CHUNKED, ...CLOSING }],
  [41300, '1.0', {}],
  [40010, '1.1', { Host: undefined }],
];

export function describeConnections(target: () => ContractTarget): void {
  const post = (body: string, headers?: RequestHeaders): string => postHead(target().basePath, body, headers) + body;

  /** Reads only when all is sent. */
  const upload = async (error: number, ...parts: (string | Buffer)[]): Promise<void> => {
    using connection = await RawConnection.open(target().port);
    connection.socket.pause();
    connection.send(...parts);
    while (connection.socket.writableLength > 0) await once(connection.socket, 'drain');
    connection.socket.resume();
    await expectAnswers(target(), connection, error);
  };

  describe('a connection', () => {
    beforeEach(() => target().post(ROSE, { 'Idempotency-Key': 'key' }));

    it('should carry pipelined requests, and answer them in order, good ones behind refused ones', async () => {
      const refused: [error: number, bytes: string][] = [
        [40001, post('')],
        [40002, post('{')],
        [40003, post('{}')],
        [40004, post(FERN, { 'Idempotency-Key': '' })],
        [40100, post(FERN, { Authorization: undefined })],
        [40101, post(FERN, BAD_TOKEN)],
        [40102, post(FERN, { Authorization: 'Bearer' })],
        [40400, post(FERN).replace('/plants', '/trees')],
        [40500, post(FERN).replace('POST', 'PUT')],
        [40901, post(ROSE)],
        [40902, post('{"id": 1, "name": "Dahlia"}', { 'Idempotency-Key': 'key' })],
        [41300, post(' '.repeat(1_048_577))],
        [41500, post(FERN, { 'Content-Type': 'text/plain' })],
      ];
      const requests = refused.map(([error, bytes]) => bytes + post(`{"id": ${error}, "name": "Plant ${error}"}`));
      await exchange(target(), requests, ...refused.flatMap(([error]) => [error, `Plant ${error}`]));
    });

    it('should be closed after an answer, or kept in HTTP/1.0, if the client asks for it', async () => {
      const response = await exchange(target(), post(ROSE, CLOSING) + post(FERN), 40901, CLOSED);
      expect(response?.headers.connection).toBe('close');
      const old = post(ROSE, { Connection: 'keep-alive' }).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), old + post(FERN), 40901, 'Fern');
    });

    it.each(UNREAD)(
      'should carry a %d to ten clients that read only behind a large body: HTTP/%s %j',
      async (error, version, headers) => {
        const body = Buffer.alloc(20_000_000, ' ');
        const isChunked = 'Transfer-Encoding' in headers;
        const framed = isChunked ? [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
        const head = postHead(target().basePath, body, headers).replace('HTTP/1.1', `HTTP/${version}`);
        await Promise.all(Array.from({ length: 10 }, () => upload(error, head, ...framed)));
      },
    );

    it('should carry a 40010 to ten clients whose chunks are broken, and who send on', async () => {
      const parts = [post('', CHUNKED), 'zz\r\n', Buffer.alloc(20_000_000, ' ')];
      await Promise.all(Array.from({ length: 10 }, () => upload(40010, ...parts)));
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

/** @param milliseconds that the target gives a request to arrive: few, for they pass in every test */
export function describeTimeouts(target: () => ContractTarget, milliseconds: number): void {
  const post = (body: string, headers?: RequestHeaders): string => postHead(target().basePath, body, headers) + body;

  it(`should refuse a request that has not arrived within ${milliseconds} ms, wherever it stops`, async () => {
    // In the request line, in a header field, behind the head, and within the body.
    const beginnings = [
      ...['POST /pla', 'POST /plants HTTP/1.1\r\nHost: loc', postHead(target().basePath, ROSE)],
      ...[post(ROSE).slice(0, -10), `${post('', CHUNKED)}19\r\n{"id"`, `${post('', CHUNKED)}19\r\n${ROSE}\r\n`],
    ];
    const others = post('[]') + post('{}');
    const responses = await Promise.all([
      ...beginnings.map((beginning) => exchange(target(), beginning, 40800, CLOSED)),
      ...beginnings.map((beginning) => exchange(target(), others + beginning, 40001, 40003, 40800, CLOSED)),
      exchange(target(), postHead(target().basePath, ROSE, { Expect: '100-continue' }), 100, 40800, CLOSED),
    ]);
    for (const response of responses) expect(response?.body).toContain(`${milliseconds} ms`);
    // What is left of a refused request has no more time.
    await Promise.all([
      exchange(target(), postHead(target().basePath, ROSE, { Authorization: undefined }), 40100, CLOSED),
      exchange(target(), postHead(target().basePath, '', { 'Content-Length': '2000000' }), 41300, CLOSED),
    ]);
    expect(await storedPlants(target())).toEqual([]);
  });

  it.each([
    [40800, undefined],
    [40101, BAD_TOKEN],
  ])('should end the connection of one whose body never stops, and answer it with %d', async (error, headers) => {
    using connection = await RawConnection.open(target().port);
    connection.send(postHead(target().basePath, ' '.repeat(100), headers));
    const drip = setInterval(() => {
      connection.send(' ');
    }, milliseconds / 10);
    await expectAnswers(target(), connection, error, CLOSED).finally(() => {
      clearInterval(drip);
    });
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
