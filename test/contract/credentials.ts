import { describe, expect, it } from '@jest/globals';
import {
  CHUNKED,
  expectRefusal,
  postHead,
  RawConnection,
  requestHead,
  type RequestHeaders,
  TOKEN,
} from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';

const CHALLENGE = 'Bearer realm="plants"';
const CHALLENGES: Record<number, string> = {
  40100: CHALLENGE,
  40101: `${CHALLENGE}, error="invalid_token"`,
  40102: CHALLENGE,
};

const GOOD = [`bearer ${TOKEN}`, `bEaReR ${TOKEN}`, `  Bearer   ${TOKEN}  `];

type Sent = string | string[] | undefined;
const BAD: [authorization: Sent, error: number][] = [
  ...[undefined, `Basic ${TOKEN}`, `DPoP ${TOKEN}`, TOKEN, `Bearer${TOKEN}`].map((sent): [Sent, number] => [
    sent,
    40100,
  ]),
  ...['wrong', `${TOKEN}x`, `${TOKEN}=`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), 'x'.repeat(10_000), '-._~+/=='].map(
    (token): [Sent, number] => [`Bearer ${token}`, 40101],
  ),
  ...['', '=', 'Bearer', 'Bearer   ', `Bearer\t${TOKEN}`, `Bearer: ${TOKEN}`].map((sent): [Sent, number] => [
    sent,
    40102,
  ]),
  ...[`${TOKEN} ${TOKEN}`, `${TOKEN}, Bearer ${TOKEN}`, `"${TOKEN}"`, `token=${TOKEN}`, `${TOKEN}\u00e9`, '='].map(
    (token): [Sent, number] => [`Bearer ${token}`, 40102],
  ),
  ...[`Bearer ${TOKEN}`, 'Basic dXNlcjpwYXNzd29yZA==', ''].flatMap((other): [Sent, number][] => [
    [[`Bearer ${TOKEN}`, other], 40102],
    [[other, `Bearer ${TOKEN}`], 40102],
  ]),
];

/** Requests that hold a token, but not where one counts. */
const ELSEWHERE: [where: string, query: string, body: string, headers: RequestHeaders][] = [
  ['query', `?access_token=${TOKEN}`, PLANT, {}],
  ['query, twice', `?access_token=${TOKEN}&access_token[a]=x`, PLANT, {}],
  ['body', '', `{"id": 1, "name": "Rose", "access_token": "${TOKEN}"}`, {}],
  ['body, as an array', '', `{"id": 1, "name": "Rose", "access_token": ["${TOKEN}"]}`, {}],
  ['query and body', `?access_token=${TOKEN}`, `{"id": 1, "name": "Rose", "access_token": 5}`, {}],
  ['cookie', '', PLANT, { Cookie: `access_token=${TOKEN}` }],
  ['Proxy-Authorization header', '', PLANT, { 'Proxy-Authorization': `Bearer ${TOKEN}` }],
];

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

export function describeCredentials(target: () => ContractTarget): void {
  describe('the credential', () => {
    it.each(GOOD)('should be good: %j', async (authorization) => {
      expectCreated(await target().post(PLANT, { Authorization: authorization }), { name: 'Rose' });
    });

    it.each(BAD)('should not be %j, which is %d', async (authorization, error) => {
      const response = await target().post(PLANT, { Authorization: authorization });
      expect(await expectNothingWritten(target(), response, error)).not.toContain(TOKEN);
      expect(response.headers['www-authenticate']).toBe(CHALLENGES[error]);
    });

    it.each([
      ['Bearer', 'The bearer token is empty.'],
      [`Bearer "${TOKEN}"`, 'The bearer token stands in quotes.'],
    ])('should be told what is wrong: %s', async (authorization, words) => {
      const response = await target().post(PLANT, { Authorization: authorization });
      expect(await expectNothingWritten(target(), response, 40102)).toContain(words);
    });

    it.each(ELSEWHERE)(
      'should neither be taken from elsewhere nor break a request: %s',
      async (_, query, body, headers) => {
        const send = (authorization?: RequestHeaders): ReturnType<ContractTarget['raw']> =>
          target().raw(
            requestHead(`POST ${target().basePath}/plants${query} HTTP/1.1`, {
              'Content-Type': 'application/json',
              'Content-Length': String(Buffer.byteLength(body)),
              ...headers,
              ...authorization,
            }),
            body,
          );
        await expectNothingWritten(target(), await send({ Authorization: undefined }), 40100);
        expectCreated(await send(), { name: 'Rose' });
      },
    );

    it('should not be taken from a form', async () => {
      const response = await target().post(`access_token=${TOKEN}&id=1`, { ...FORM, Authorization: undefined });
      await expectNothingWritten(target(), response, 40100);
    });
  });
}

/** For servers that read all header fields, however many there are. */
export function describeCredentialAmongMany(target: () => ContractTarget): void {
  it('should be found, as the credential, in a header of any letters, behind any number of others', async () => {
    const headers = { X: Array<string>(1500).fill(''), aUTHORIZATION: `Bearer ${TOKEN}` };
    // With the usual one before them.
    await expectNothingWritten(target(), await target().post(PLANT, headers), 40102);
    expectCreated(await target().post(PLANT, { Authorization: undefined, ...headers }), { name: 'Rose' });
  });
}

const LARGE = ' '.repeat(2 * 1024 * 1024);
const NO_KEY = { 'Idempotency-Key': '' };

/** Faults in the order in which they are to be found: each request has its own and all that come after. */
const IN_ORDER: [error: number, body: string, headers: RequestHeaders][] = [
  [41500, LARGE, { 'Content-Type': 'text/plain', ...NO_KEY }],
  [41500, LARGE, { 'Content-Encoding': 'gzip', ...NO_KEY }],
  [41300, `{"id": "x",${LARGE}`, NO_KEY],
  [40002, '{"id": "x",', NO_KEY],
  [40001, '[]', NO_KEY],
  [40004, '{"id": 1, "name": null}', NO_KEY],
  [40003, '{"id": 1, "name": null}', {}],
];

const CREDENTIALS: [credential: string, authorization: string | undefined, error: number][] = [
  ['no credential', undefined, 40100],
  ['a wrong token', 'Bearer wrong', 40101],
  ['a malformed credential', 'Bearer', 40102],
];

export function describeOrderOfChecks(target: () => ContractTarget): void {
  describe.each(CREDENTIALS)('a request with %s', (_, Authorization, error) => {
    it.each(IN_ORDER)('should be refused for that, not with %d', async (_other, body, headers) => {
      await expectNothingWritten(target(), await target().post(body, { Authorization, ...headers }), error);
    });

    it.each([{ 'Content-Length': '100' }, { 'Content-Length': '1000000000' }, CHUNKED])(
      'should be refused before its body is sent: %j',
      async (headers) => {
        await exchange(target(), postHead(target().basePath, '', { Authorization, ...headers }), error);
      },
    );

    it('should not end the connection for the body that follows', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Authorization }));
      await expectAnswers(target(), connection, error);
      connection.send(PLANT, postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });
  });

  it.each(IN_ORDER)('should refuse a request of several faults for the first, %d', async (error, body, headers) => {
    // Every one of them would also be refused for its id.
    expectCreated(await target().post(PLANT), { name: 'Rose' });
    expectRefusal(await target().post(body, headers), error, target().errorStatus);
  });
}

/** For servers that answer what Node would refuse by itself. */
export function describeOrderInBrokenRequests(target: () => ContractTarget): void {
  it.each(CREDENTIALS)('should refuse %s for that if the chunks are broken too', async (_, Authorization, error) => {
    const head = postHead(target().basePath, '', { Authorization, ...CHUNKED });
    await exchange(target(), `${head}zz\r\n`, error, CLOSED);
  });
}
