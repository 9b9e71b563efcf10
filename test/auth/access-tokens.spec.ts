import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { makeToken } from '../../src/auth/token-format.js';
import { PlantsAuthModule } from '../../src/index.js';
import { expectRefusal, TOKEN } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';
import {
  bearer,
  errorOf,
  issueToken,
  json,
  JwtIssuer,
  NO_PLANT,
  signingKey,
  type StoredToken,
} from '../support/tokens/tokens.js';
import { expectWithin, until } from '../support/until.js';

/** What is promised for a change to take effect. */
const PROMISED_MS = 2000;

describe('Access tokens', () => {
  let issuer: JwtIssuer;
  let store: Store;
  let token: StoredToken;

  beforeAll(async () => {
    issuer = await JwtIssuer.start([await signingKey('a')]);
    store = await startStore(issuer.variables);
  });
  afterAll(async () => {
    await store.stop();
    await issuer[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    token = await issueToken(store.database);
  });

  const change = (sql: string): Promise<unknown> => store.database.query(`${sql} WHERE id = ${token.id}`);
  const verdict = async (headers: object = token.headers): Promise<unknown> =>
    errorOf(await store.post(NO_PLANT, { ...headers }));
  const expectSoon = (error: number): Promise<void> =>
    expectWithin(PROMISED_MS, async () => (await verdict()) === error);

  it('should cost no connection before one comes, be valid in addition to static ones, and tell a typing error', async () => {
    const sessions = `SELECT FROM pg_stat_activity
      WHERE application_name = 'plant-store-tokens' AND datname = current_database()`;
    const verdicts: unknown[] = [];
    for (const stranger of [TOKEN, `${TOKEN}x`, token.token.slice(0, -1), 'a.b.c'])
      verdicts.push(await verdict(bearer(stranger)));
    expect(verdicts).toEqual([40003, 40101, 40101, 40101]);
    const mistyped = await store.post(NO_PLANT, bearer(`${token.token.slice(0, -1)}-`));
    expect(expectRefusal(mistyped, 40101, 'contract')).toContain('it has a typing error');
    expect(await store.database.query(sessions)).toEqual([]);
    // Several that come at once are each decided by itself.
    const answers = await Promise.all([makeToken(), token.token, TOKEN].map((one) => verdict(bearer(one))));
    expect(answers).toEqual([40101, 40003, 40003]);
    expect(await store.database.query(sessions)).toHaveLength(1);
  });

  it('should be refused without the scope, and not once they have it', async () => {
    await change('UPDATE access_tokens SET scopes = NULL');
    const response = await store.post(NO_PLANT, token.headers);
    expect(expectRefusal(response, 40300, 'contract')).toMatch('plants:create');
    await change(`UPDATE access_tokens SET scopes = '{plants:create}'`);
    await expectSoon(40003);
  });

  it.each([
    ['revoked', 'UPDATE access_tokens SET revoked_at = now()'],
    ['expired', `UPDATE access_tokens SET expires_at = now() - interval '1 second'`],
    ['deleted', 'DELETE FROM access_tokens'],
  ])('should be refused within 2 s, and no other one: the token is %s', async (_, sql) => {
    const other = await issueToken(store.database);
    for (const { headers } of [token, other]) expect(await verdict(headers)).toBe(40003);
    await change(sql);
    await expectSoon(40101);
    expect(await verdict(other.headers)).toBe(40003);
  });

  it('should be right before they expire, and wrong at their end', async () => {
    for (const expires of ['100000 years', 'infinity']) {
      const { headers } = await issueToken(store.database, { expires });
      // From the database, and then from memory.
      expect([await verdict(headers), await verdict(headers)]).toEqual([40003, 40003]);
    }
    expect(await verdict((await issueToken(store.database, { expires: '-1 second' })).headers)).toBe(40101);
    const ending = await issueToken(store.database, { expires: '2 seconds' });
    expect(await verdict(ending.headers)).toBe(40003);
    await until(async () => (await verdict(ending.headers)) === 40101);
    const sql = `SELECT abs(extract(epoch FROM now() - expires_at)) < 1.5 AS "inTime" FROM access_tokens WHERE id = $1`;
    // A moment early is on the safe side: the way to the database and back.
    expect(await store.database.query(sql, [ending.id])).toEqual([{ inTime: true }]);
  });

  it.each([
    ['a schema without them', { schema: 'other' }, /^schema other .* is not migrated: /],
    ['a server that is away', { url: 'postgresql://a@127.0.0.1:1/plants' }, /^cannot connect to database plants/],
  ])('should not let an application start that takes them from %s', async (_, options, message) => {
    const module = PlantsAuthModule.forRoot({ issuedTokens: { url: store.database.url, ...options } });
    const start = NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(start).rejects.toThrow(message);
  });

  it('should ask the issuer of JWTs with the first one, and say when it cannot decide, while other tokens are valid', async () => {
    expect(issuer.requests).toEqual([]);
    issuer.answer = json({}, 503);
    const response = await store.post(NO_PLANT, bearer(issuer.token()));
    expectRefusal(response, 50300, 'contract');
    expect(response.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[0-9]+$/) });
    expect(response.headers).not.toHaveProperty('www-authenticate');
    expect(await verdict()).toBe(40003);
    expect(issuer.requests).toHaveLength(1);
    issuer.answer = undefined;
    await until(async () => (await verdict(bearer(issuer.token()))) === 40003);
    for (const [error, challenge, claims] of [
      [40101, 'error="invalid_token"', { aud: 'https://trees.example' }],
      [40300, 'error="insufficient_scope", scope="plants:create"', { scope: 'plants:look' }],
    ] as const) {
      const refused = await store.post(NO_PLANT, bearer(issuer.token(claims)));
      expectRefusal(refused, error, 'contract');
      expect(refused.headers['www-authenticate']).toBe(`Bearer realm="plants", ${challenge}`);
    }
  });
});
