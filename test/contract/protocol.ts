import { describe, expect, it } from '@jest/globals';
import { CHUNKED, postHead, RawConnection, type RequestHeaders } from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
  storedPlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Röse🌹"}';
const BYTES = Buffer.from(PLANT);
const SIZE = BYTES.length.toString(16);
const NAME = 'Röse🌹';

type Head = (headers?: RequestHeaders) => string;
const headOf =
  (target: () => ContractTarget): Head =>
  (headers) =>
    postHead(target().basePath, PLANT, headers);

async function expectRefusedAndClosed(target: ContractTarget, bytes: string | Buffer, error: number): Promise<string> {
  const response = await exchange(target, bytes, error, CLOSED);
  expect(response?.headers.connection).toBe('close');
  return expectNothingWritten(target, response, error);
}

/** What is no HTTP/1 request, from the first byte or from the first line. */
const GARBAGE: (string | Buffer)[] = [
  ...['garbage\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ...['POST /plants\r\n\r\n', 'POST plants HTTP/1.1\r\n\r\n', 'POST /plants HTTP/2.0\r\nHost: x\r\n\r\n'],
  ...['POST /pla nts HTTP/1.1\r\nHost: x\r\n\r\n', 'POST /pla\x01nts HTTP/1.1\r\nHost: x\r\n\r\n'],
  ...[Buffer.from('1603010200010001fc0303', 'hex'), Buffer.alloc(100)],
];

/** Field lines that no request may have. */
const BROKEN_FIELDS = [
  ...['X-Field', 'X-Field : x', 'X Field: x', ': x', 'X-F\u00efeld: x', 'X-Field: a\0b', 'X-Field: a\rb'],
  ...['X-Field: a\x01b', 'X-Field: a\r\n b', 'X-Field: a\nX-Other: b', ' X-Field: x'],
];

const LARGE_FIELDS: [what: string, line: string][] = [
  ['in one field', `X-Field: ${'x'.repeat(17_000)}`],
  ['in many fields', Array<string>(1000).fill('X-Field: 0123456789').join('\r\n')],
  ['many times over', `X-Field: ${'x'.repeat(1_000_000)}`],
];

export function describeProtocol(target: () => ContractTarget): void {
  const head = headOf(target);
  const requestWith = (line: string): string => `${head().replace('\r\n', `\r\n${line}\r\n`)}${PLANT}`;

  describe('what is no HTTP request', () => {
    it.each(GARBAGE)('should be refused: %j', async (bytes) => {
      await expectRefusedAndClosed(target(), bytes, 40010);
    });

    it.each(BROKEN_FIELDS)('should be refused for a header field: %j', async (line) => {
      await expectRefusedAndClosed(target(), requestWith(line), 40010);
    });
  });

  describe('the Host', () => {
    it.each([{ Host: undefined }, { Host: ['localhost', 'localhost'] }, { Host: 'localhost', HOST: 'x' }])(
      'should be sent once: %j',
      async (headers) => {
        expect(await expectRefusedAndClosed(target(), head(headers) + PLANT, 40010)).toContain('Host');
      },
    );

    it('may be anything, and missing in an HTTP/1.0 request', async () => {
      expectCreated(await target().post(PLANT, { Host: '' }), { name: NAME });
      const old = head({ Host: undefined }).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), old + PLANT, 40901, CLOSED);
    });
  });

  describe('the header fields', () => {
    it.each(LARGE_FIELDS)('should not be larger than 16 KiB: %s', async (_, line) => {
      expect(await expectRefusedAndClosed(target(), requestWith(line), 43100)).toContain('16384 bytes');
    });

    it('should not come behind a path larger than 16 KiB', () =>
      expectRefusedAndClosed(target(), head().replace('/plants', `/plants?${'x'.repeat(17_000)}`), 43100));

    it.each([`X-Field: ${'x'.repeat(15_000)}`, Array<string>(2500).fill('X:').join('\r\n'), 'Range: bytes=0-1'])(
      'may be large, many and unknown: %.20s',
      async (line) => {
        await exchange(target(), requestWith(line), NAME);
      },
    );

    it('may come in any pieces, behind empty lines, and the body with them', async () => {
      const pieces = [...Buffer.from(`\r\n\r\n${requestWith('X-Field: x')}`)].map((byte) => Buffer.of(byte));
      await exchange(target(), pieces, NAME);
    });
  });

  it('should tell nothing in an answer of what the service is made of', async () => {
    for (const response of await Promise.all([target().post(PLANT), target().post(''), target().raw('x\r\n\r\n')])) {
      const names = Object.keys(response.headers);
      expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(?:x-powered-by|server|etag)$/)]));
      expect(response.body).not.toMatch(/node|express|nest|prisma|sql|\bat \S+:\d+/i);
    }
  });
}

/** With a limit of 1 MiB. */
const MOST_CHUNKS = 10_000 + 1024;
const LAST = '\r\n0\r\n\r\n';

const CHUNKINGS: [what: string, parts: (string | Buffer)[]][] = [
  ['a chunk for each byte', [...[...BYTES].flatMap((byte) => ['1\r\n', Buffer.of(byte), '\r\n']), '0\r\n\r\n']],
  ['pieces that cut the frame', [SIZE.slice(0, 1), SIZE.slice(1), '\r', '\n', PLANT, '\r', '\n0', '\r\n\r', '\n']],
  ['extensions', [`0${SIZE.toUpperCase()};a=b;c="d"\r\n${PLANT}\r\n0;e\r\n\r\n`]],
  ['trailers', [`${SIZE}\r\n${PLANT}\r\n0\r\nX-Checksum: 1\r\nAuthorization: Bearer x\r\n\r\n`]],
];

const BROKEN_CHUNKS = [
  ...['zz\r\n', '-1\r\n', `0x${SIZE}\r\n`, '\r\n', 'ffffffffffffffff1\r\n', '1\r\n', `${SIZE}\n`].map(
    (size) => `${size}${PLANT}${LAST}`,
  ),
  `${SIZE}\r\n${PLANT}\r\n0\r\nno colon\r\n\r\n`,
];

const NO_LENGTH = { 'Content-Length': undefined };
const AMBIGUOUS: RequestHeaders[] = [
  { 'Transfer-Encoding': 'chunked' },
  { 'Content-Length': ['5', String(BYTES.length)] },
  { 'Content-Length': [String(BYTES.length), String(BYTES.length)] },
  ...['-1', '+5', '0x1b', '5 5', '5, 5', '', '99999999999999999999'].map((length) => ({ 'Content-Length': length })),
  ...['gzip, chunked', 'chunked, gzip', 'chunked, chunked', 'identity', 'xchunked', ''].map((coding) => ({
    ...NO_LENGTH,
    'Transfer-Encoding': coding,
  })),
  { ...NO_LENGTH, 'Transfer-Encoding': ['chunked', 'identity'] },
  { ...NO_LENGTH, 'Transfer-Encoding ': 'chunked' },
];

export function describeBodyFraming(target: () => ContractTarget): void {
  const head = headOf(target);

  describe('a chunked body', () => {
    it.each(CHUNKINGS)('should be read with %s', async (_, parts) => {
      await exchange(target(), [head({ ...CHUNKED, 'Transfer-Encoding': 'Chunked' }), ...parts], NAME);
    });

    it('should be read in 10,000 chunks and one more for each KiB of the limit, and not in more', async () => {
      const tooMany = head(CHUNKED) + '1\r\n \r\n'.repeat(MOST_CHUNKS + 1);
      expect(await expectRefusedAndClosed(target(), tooMany, 41300)).toContain(`${MOST_CHUNKS} chunks`);
      const name = 'x'.repeat(MOST_CHUNKS - '{"id":1,"name":""}'.length);
      const chunks = `{"id":1,"name":"${name}"}`.replace(/./g, '1\r\n$&\r\n');
      await exchange(target(), `${head(CHUNKED)}${chunks}0\r\n\r\n`, name);
    });

    it.each(BROKEN_CHUNKS)('should be refused: %j', async (bytes) => {
      await exchange(target(), head(CHUNKED) + bytes, 40010, CLOSED);
      expect(await storedPlants(target())).toEqual([]);
    });

    it('should be refused in an HTTP/1.0 request', async () => {
      const old = head(CHUNKED).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), `${old}${SIZE}\r\n${PLANT}${LAST}`, 40010, CLOSED);
    });
  });

  it.each(AMBIGUOUS)(
    'should refuse a request with two different ends, and close its connection: %j',
    async (headers) => {
      const smuggled = '{"id": 666, "name": "Nightshade"}';
      const bytes = `${head(headers)}${PLANT}0\r\n\r\n${postHead(target().basePath, smuggled)}${smuggled}`;
      await expectRefusedAndClosed(target(), bytes, 40010);
    },
  );
}

/** What ends a connection before a body is read. */
const ENDING: RequestHeaders[] = [
  { Host: undefined },
  { Host: undefined, 'Content-Length': undefined },
  { Host: ['localhost', 'localhost'] },
  { Expect: 'x' },
  { Connection: 'close' },
  { Connection: 'close', ...CHUNKED },
];

export function describeHead(target: () => ContractTarget): void {
  // RFC 9110, 9.3.2. The body may come late or not at all.
  it.each(ENDING)('should answer a HEAD with the head of the answer to a GET, and end it: %j', async (headers) => {
    const answers = ['GET', 'HEAD'].map(async (method) => {
      using connection = await RawConnection.open(target().port);
      connection.send(headOf(target)(headers).replace('POST', method));
      const response = await connection.response({ head: method === 'HEAD' });
      connection.send(PLANT);
      connection.socket.end();
      expect(await connection.response()).toBeUndefined();
      return response;
    });
    const [get, head] = await Promise.all(answers);
    const withoutId = { ...get?.headers, 'x-request-id': expect.any(String), date: expect.any(String) };
    expect(head).toEqual({ status: get?.status, headers: withoutId, body: '' });
    expect(get?.headers.connection).toBe('close');
  });
}

const REFUSED: [error: number, headers: RequestHeaders][] = [
  [40100, { Authorization: undefined }],
  [40101, { Authorization: 'Bearer wrong' }],
  [40102, { Authorization: 'Bearer' }],
  [41500, { 'Content-Type': 'text/plain' }],
  [41500, { 'Content-Encoding': 'zstd' }],
  [41300, { 'Content-Length': '2000000' }],
];

export function describeExpectContinue(target: () => ContractTarget): void {
  const head = headOf(target);
  const WAITS = { Expect: '100-Continue' };

  describe('Expect: 100-continue', () => {
    it.each([
      [PLANT, NAME],
      ['[]', 40001],
    ])('should be answered before the body is sent: %s', async (body, answer) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, body, WAITS));
      await expectAnswers(target(), connection, 100);
      connection.send(body, postHead(target().basePath, '{}'), '{}');
      await expectAnswers(target(), connection, answer, 40003);
    });

    it('should be answered if the body does not wait', async () => {
      await exchange(target(), head(WAITS) + PLANT, 100, NAME);
    });

    // Nobody knows whether the body follows or the next request.
    it.each(REFUSED)('should be refused at once with %d, and the connection closed: %j', async (error, headers) => {
      await expectRefusedAndClosed(target(), head({ ...WAITS, ...headers }), error);
    });

    it('should be ignored in an HTTP/1.0 request', async () => {
      await exchange(target(), head(WAITS).replace('HTTP/1.1', 'HTTP/1.0') + PLANT, NAME);
    });
  });

  it.each([
    '200-ok',
    '100-continued',
    '',
    '100-continue, 200-ok',
    '"100-continue"',
    '100-continue;q=1',
    '100-continue,',
  ])('should refuse any other Expect, before the credential: %j', async (Expect) => {
    for (const credential of [{}, { Authorization: undefined }]) {
      const message = await expectRefusedAndClosed(target(), head({ Expect, ...credential }) + PLANT, 40010);
      expect(message).toContain(JSON.stringify(Expect));
    }
  });
}
