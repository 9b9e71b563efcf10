import { beforeEach, describe, expect, it } from '@jest/globals';
import { requestHead, type RequestHeaders, TOKEN } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

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
  beforeEach(() => removePlants(target()));

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

    it.each(BAD.filter(([sent]) => canRepeat || !Array.isArray(sent)))(
      'should not be %j, which is %d',
      async (authorization, error) => {
        const response = await target().post(PLANT, { Authorization: authorization });
        const message = await expectNothingWritten(target(), response, error);
        expect(response.headers['www-authenticate']).toBe(CHALLENGES[error]);
        expect(message).not.toContain(TOKEN);
      },
    );

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
  beforeEach(() => removePlants(target()));

  it('should be found, as the credential, in a header of any letters, behind any number of others', async () => {
    const headers = { Authorization: undefined, X: Array<string>(1500).fill(''), aUTHORIZATION: `Bearer ${TOKEN}` };
    expectCreated(await target().post(PLANT, headers), { name: 'Rose' });
    const repeated = { X: Array<string>(1500).fill(''), aUTHORIZATION: `Bearer ${TOKEN}` };
    await removePlants(target());
    await expectNothingWritten(target(), await target().post(PLANT, repeated), 40102);
  });
}

/** @param tokens the target accepts each of them */
export function describeSeveralTokens(target: () => ContractTarget, tokens: string[]): void {
  it.each(tokens)('should accept each of its tokens: %s', async (token) => {
    await removePlants(target());
    expectCreated(await target().post(PLANT, { Authorization: `Bearer ${token}` }), { name: 'Rose' });
  });
}
