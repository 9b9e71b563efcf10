import { describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, requestHead, type RequestHeaders, TOKEN } from '../support/http/request.js';
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

const GOOD = [
  `Bearer ${TOKEN}`,
  `bearer ${TOKEN}`,
  `BEARER ${TOKEN}`,
  `bEaReR ${TOKEN}`,
  `Bearer   ${TOKEN}`,
  `  Bearer ${TOKEN}  `,
];

const BAD: [authorization: string | string[] | undefined, error: number][] = [
  [undefined, 40100],
  ['Basic dXNlcjpwYXNzd29yZA==', 40100],
  [`Basic ${TOKEN}`, 40100],
  ['Digest username="x"', 40100],
  ['Negotiate', 40100],
  [`Token ${TOKEN}`, 40100],
  [`DPoP ${TOKEN}`, 40100],
  [TOKEN, 40100],
  [`Bearer${TOKEN}`, 40100],
  ['Bearer wrong', 40101],
  ['bearer wrong', 40101],
  [`Bearer ${TOKEN}x`, 40101],
  [`Bearer ${TOKEN}=`, 40101],
  [`Bearer ${TOKEN.slice(0, -1)}`, 40101],
  [`Bearer ${TOKEN.toUpperCase()}`, 40101],
  [`Bearer ${'x'.repeat(10_000)}`, 40101],
  ['Bearer null', 40101],
  ['Bearer -._~+/==', 40101],
  ['', 40102],
  ['Bearer', 40102],
  ['Bearer   ', 40102],
  [`Bearer\t${TOKEN}`, 40102],
  [`Bearer: ${TOKEN}`, 40102],
  [`Bearer ${TOKEN} ${TOKEN}`, 40102],
  [`Bearer ${TOKEN},${TOKEN}`, 40102],
  [`Bearer ${TOKEN}, Bearer ${TOKEN}`, 40102],
  [`Bearer ${TOKEN}, Basic dXNlcjpwYXNzd29yZA==`, 40102],
  [`Bearer "${TOKEN}"`, 40102],
  [`Bearer token=${TOKEN}`, 40102],
  [`Bearer ${TOKEN}\u00e9`, 40102],
  ['Bearer =', 40102],
  ['Bearer {}', 40102],
  ['=', 40102],
  [[`Bearer ${TOKEN}`, `Bearer ${TOKEN}`], 40102],
  [[`Bearer ${TOKEN}`, 'Bearer wrong'], 40102],
  [[`Bearer ${TOKEN}`, 'Basic dXNlcjpwYXNzd29yZA=='], 40102],
  [['Basic dXNlcjpwYXNzd29yZA==', `Bearer ${TOKEN}`], 40102],
  [[`Bearer ${TOKEN}`, ''], 40102],
];

/** Requests that hold a good token, but not where one counts. */
const ELSEWHERE: [where: string, query: string, body: string, headers: RequestHeaders][] = [
  ['query', `?access_token=${TOKEN}`, PLANT, {}],
  ['query, as an array', `?access_token[]=${TOKEN}`, PLANT, {}],
  ['query, twice', `?access_token=${TOKEN}&access_token=${TOKEN}`, PLANT, {}],
  ['query, as an object', `?access_token[a]=${TOKEN}&access_token[b]=x`, PLANT, {}],
  ['body', '', `{"id": 1, "name": "Rose", "access_token": "${TOKEN}"}`, {}],
  ['body, as an array', '', `{"id": 1, "name": "Rose", "access_token": ["${TOKEN}"]}`, {}],
  ['body, as a number', '', '{"id": 1, "name": "Rose", "access_token": 5}', {}],
  ['query and body', `?access_token=${TOKEN}`, `{"id": 1, "name": "Rose", "access_token": "${TOKEN}"}`, {}],
  ['cookie', '', PLANT, { Cookie: `access_token=${TOKEN}` }],
  ['Proxy-Authorization header', '', PLANT, { 'Proxy-Authorization': `Bearer ${TOKEN}` }],
  ['header of another name', '', PLANT, { 'X-Access-Token': TOKEN, 'X-Authorization': `Bearer ${TOKEN}` }],
];

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** @param canRepeat whether the client can send one of these header fields twice */
export function describeCredentials(target: () => ContractTarget, canRepeat = true): void {
  function create(query: string, body: string, headers: RequestHeaders): ReturnType<ContractTarget['raw']> {
    const head = requestHead(`POST ${target().basePath}/plants${query} HTTP/1.1`, {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...headers,
    });
    return target().raw(head, body);
  }

  describe('the credential', () => {
    it.each(GOOD)('should be good: %j', async (authorization) => {
      expectCreated(await target().post(PLANT, { Authorization: authorization }), { name: 'Rose' });
    });

    const bad = BAD.filter(([sent]) => canRepeat || !Array.isArray(sent));
    it.each(bad)('should not be %j, which is %d', async (authorization, error) => {
      const response = await target().post(PLANT, { Authorization: authorization });
      const message = await expectNothingWritten(target(), response, error);
      expect(response.headers['www-authenticate']).toBe(CHALLENGES[error]);
      expect(message).not.toContain(TOKEN);
    });

    it.each(ELSEWHERE)('should not be taken from elsewhere: %s', async (_, query, body, headers) => {
      const response = await create(query, body, { Authorization: undefined, ...headers });
      await expectNothingWritten(target(), response, 40100);
      expect(response.headers['www-authenticate']).toBe(CHALLENGE);
    });

    it.each(ELSEWHERE)('should count with any credential elsewhere: %s', async (_, query, body, headers) => {
      expectCreated(await create(query, body, headers), { name: 'Rose' });
    });

    it('should not be taken from a form', async () => {
      const form = `access_token=${TOKEN}&id=1&name=Rose`;
      const response = await target().post(form, { ...FORM, Authorization: undefined });
      await expectNothingWritten(target(), response, 40100);
      await expectNothingWritten(target(), await target().post(form, FORM), 41500);
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

/** @param tokens the target accepts each of them */
export function describeSeveralTokens(target: () => ContractTarget, tokens: string[]): void {
  it.each(tokens)('should accept each of its tokens: %s', async (token) => {
    expectCreated(await target().post(PLANT, { Authorization: `Bearer ${token}` }), { name: 'Rose' });
  });
}

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
  describe.each(CREDENTIALS)('a request with %s', (_, Authorization, error) => {
    it.each(FAULTY)('should be refused for that, not for %s', async (_fault, body, headers) => {
      await expectNothingWritten(target(), await target().post(body, { Authorization, ...headers }), error);
    });

    it.each([
      ['of a length', { 'Content-Length': '100' }],
      ['of a gigabyte', { 'Content-Length': GIGABYTE }],
      ['in chunks', CHUNKED],
    ])('should be refused before its body is sent: %s', async (_body, headers) => {
      await exchange(target(), postHead(target().basePath, '', { Authorization, ...headers }), error);
    });

    it('should not end the connection for the body that follows', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Authorization }));
      await expectAnswers(target(), connection, error);
      connection.send(PLANT, postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });
  });

  describe('a request with a credential and several faults', () => {
    it.each(IN_ORDER)('should be refused for the first, %d', async (error, body, headers) => {
      // Every one of them would also be refused for its id.
      expectCreated(await target().post(PLANT), { name: 'Rose' });
      expectRefusal(await target().post(body, headers), error, target().errorStatus);
    });
  });
}

/** For servers that answer what Node would refuse by itself. */
export function describeOrderInBrokenRequests(target: () => ContractTarget): void {
  const name = 'should refuse a request with %s for that if its chunks are broken too';
  it.each(CREDENTIALS)(name, async (_, Authorization, error) => {
    const head = postHead(target().basePath, '', { Authorization, ...CHUNKED });
    await exchange(target(), `${head}zz\r\n`, error, CLOSED);
  });
}
