import { describe, expect, it } from '@jest/globals';
import { CHUNKED, postHead, RawConnection, type RequestHeaders } from '../support/http/request.js';
import { Stopwatch } from '../support/until.js';
import {
  type Answer,
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
  removePlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Röse🌹"}';
const BYTES = Buffer.from(PLANT);
const NAME = 'Röse🌹';

const inHttp10 = (request: string): string => request.replace('HTTP/1.1', 'HTTP/1.0');

/**
 * A request that is refused and closes its connection: no answer before it is lost, and nothing behind it is read.
 * Resolves to the message.
 */
async function expectEnd(target: ContractTarget, bytes: string, error = 40010): Promise<string> {
  const behind = postHead(target.basePath, PLANT) + PLANT;
  using stopwatch = new Stopwatch();
  await exchange(target, [postHead(target.basePath, '[]'), '[]', bytes, behind], 40001, error, CLOSED);
  const response = await exchange(target, [bytes, behind], error, CLOSED);
  expect(response?.headers.connection).toBe('close');
  // It ends with the answer, and not after REQUEST_TIMEOUT.
  expect(stopwatch.elapsed).toBeLessThan(8000);
  return await expectNothingWritten(target, response, error);
}

/** What is no HTTP/1 request: HTTP/2, TLS, and an unknown method. */
const UNKNOWN_METHOD = 'CREATE /plants HTTP/1.1\r\nHost: x\r\n\r\n';
const GARBAGE = ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\x16\x03\x01\x02\x00\x01', UNKNOWN_METHOD];

export function describeProtocol(target: () => ContractTarget): void {
  const head = (headers?: RequestHeaders): string => postHead(target().basePath, PLANT, headers);
  const requestWith = (line: string): string => `${head().replace('\r\n', `\r\n${line}\r\n`)}${PLANT}`;

  it.each(GARBAGE)('should refuse what is no HTTP request: %j', (bytes) => expectEnd(target(), bytes));

  it.each([undefined, ['localhost', 'localhost']])('should refuse a Host that is not sent once: %j', async (Host) => {
    expect(await expectEnd(target(), head({ Host }) + PLANT)).toContain('Host');
  });

  it('should take any Host, and none in an HTTP/1.0 request', async () => {
    expectCreated(await target().post(PLANT, { Host: '' }), { name: NAME });
    await exchange(target(), inHttp10(head({ Host: undefined })) + PLANT, 40901, CLOSED);
  });

  it.each([
    ['one field', `X-Field: ${'x'.repeat(17_000)}`],
    ['many fields', Array<string>(1000).fill('X-Field: 0123456789').join('\r\n')],
  ])('should refuse header fields larger than 16 KiB: %s', async (_, line) => {
    expect(await expectEnd(target(), requestWith(line), 43100)).toContain('16384 bytes');
  });

  it('should tell nothing in an answer of what the service is made of', async () => {
    for (const response of await Promise.all([target().post(PLANT), target().post(''), target().raw('x\r\n\r\n')])) {
      const names = Object.keys(response.headers);
      expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(?:x-powered-by|server|etag)$/)]));
      expect(response.body).not.toMatch(/node|express|nest|prisma|sql|\bat \S+:\d+/i);
    }
  });

  it.each<[headers: RequestHeaders, next: Answer]>([
    [{ 'Content-Length': '0' }, NAME],
    [{ Connection: 'close', ...CHUNKED }, CLOSED],
  ])('should answer a HEAD without a body: %j', async (headers, next) => {
    using connection = await RawConnection.open(target().port);
    connection.send(head(headers).replace('POST', 'HEAD'));
    expect((await connection.response({ head: true }))?.status).toBeGreaterThanOrEqual(400);
    connection.send(head(), PLANT);
    await expectAnswers(target(), connection, next);
  });
}

/** A chunk for each byte. */
const CHUNKS = [...BYTES].flatMap((byte) => ['1\r\n', Buffer.of(byte), '\r\n']);

const LENGTH = String(BYTES.length);
const LENGTHS = [['5', LENGTH], '-1', '5, 5', '', '99999999999999999999'];
const CODINGS = ['gzip, chunked', 'chunked, chunked', 'identity', '', ['chunked', 'identity']];
const AMBIGUOUS: RequestHeaders[] = [
  { 'Transfer-Encoding': 'chunked' },
  { 'Content-Length': undefined, 'Transfer-Encoding ': 'chunked' },
  ...LENGTHS.map((length) => ({ 'Content-Length': length })),
  ...CODINGS.map((coding) => ({ 'Content-Length': undefined, 'Transfer-Encoding': coding })),
];

export function describeBodyFraming(target: () => ContractTarget): void {
  const head = (headers?: RequestHeaders): string => postHead(target().basePath, PLANT, headers);

  it('should read a body in small chunks, and refuse broken ones, and all in an HTTP/1.0 request', async () => {
    const chunked = head({ ...CHUNKED, 'Transfer-Encoding': 'Chunked' });
    await exchange(target(), [chunked, ...CHUNKS, '0\r\n\r\n'], NAME);
    await removePlants(target());
    for (const size of ['zz', '-1', '1']) await expectEnd(target(), `${chunked}${size}\r\n${PLANT}\r\n0\r\n\r\n`);
    await expectEnd(target(), `${inHttp10(chunked)}0\r\n\r\n`);
  });

  it.each(AMBIGUOUS)('should refuse a request with two different ends: %j', (headers) =>
    expectEnd(target(), `${head(headers)}${PLANT}0\r\n\r\n`),
  );
}

export function describeExpectContinue(target: () => ContractTarget): void {
  const head = (headers?: RequestHeaders): string => postHead(target().basePath, PLANT, headers);
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

    it('should be answered if the body does not wait, and ignored in an HTTP/1.0 request', async () => {
      await exchange(target(), head(WAITS) + PLANT, 100, NAME);
      await exchange(target(), inHttp10(head(WAITS)) + PLANT, 40901);
    });

    // Nobody knows whether the body follows or the next request.
    it.each<[error: number, headers: RequestHeaders]>([
      [40101, { Authorization: 'Bearer wrong' }],
      [41300, { 'Content-Length': '2000000' }],
    ])('should be refused at once with %d, and the connection closed: %j', async (error, headers) => {
      await expectEnd(target(), head({ ...WAITS, ...headers }), error);
    });
  });

  it.each(['', '200-ok', '100-continue, 200-ok'])(
    'should refuse any other Expect, before the credential: %j',
    async (Expect) => {
      expect(await expectEnd(target(), head({ Expect }) + PLANT)).toContain(JSON.stringify(Expect));
      await expectEnd(target(), head({ Expect, Authorization: undefined }) + PLANT);
    },
  );
}
