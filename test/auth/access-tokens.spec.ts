import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken } from '../../src/auth/token-format.js';
import { PlantsAuthModule } from '../../src/index.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { expectRefusal, type RawResponse, TOKEN } from '../support/http/request.js';
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

const OTHER_TOKEN = `${TOKEN}-2`;

describe('Access tokens', () => {
  let issuer: JwtIssuer;
  let store: Store;
  let token: StoredToken;

  beforeAll(async () => {
    issuer = await JwtIssuer.start([await signingKey('a')]);
    store = await startStore({ ...issuer.variables, ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` });
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
  async function expectRefused(token: string, error: number): Promise<RawResponse> {
    const response = await store.post(NO_PLANT, bearer(token));
    expectRefusal(response, error, 'contract');
    return response;
  }
  const expectSoon = (error: number): Promise<void> =>
    expectWithin(PROMISED_MS, async () => (await verdict()) === error);

  it('should cost no connection before one comes, and be valid beside static ones', async () => {
    const sessions = `SELECT FROM pg_stat_activity
      WHERE application_name = 'plant-store-tokens' AND datname = current_database()`;
    for (const stranger of [`${TOKEN}x`, 'a.b.c', `${token.token.slice(0, -1)}-`]) await expectRefused(stranger, 40101);
    expect(await store.database.query(sessions)).toEqual([]);
    // Several that come at once are each decided by itself.
    const answers = await Promise.all([makeToken(), token.token, TOKEN].map((one) => verdict(bearer(one))));
    expect(answers).toEqual([40101, 40003, 40003]);
    expect(await store.database.query(sessions)).toHaveLength(1);
  });

  it('should be refused without the scope, and not once they have it', async () => {
    await change('UPDATE access_tokens SET scopes = NULL');
    await expectRefused(token.token, 40300);
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
    const issue = async (expires: string): Promise<StoredToken> => issueToken(store.database, { expires });
    const [endless, past, ending] = [await issue('infinity'), await issue('-1 second'), await issue('2 seconds')];
    // From the database, and then from memory.
    for (const { headers } of [endless, endless, ending]) expect(await verdict(headers)).toBe(40003);
    expect(await verdict(past.headers)).toBe(40101);
    await until(async () => (await verdict(ending.headers)) === 40101);
    const sql = `SELECT abs(extract(epoch FROM now() - expires_at)) < 1.5 AS "inTime" FROM access_tokens WHERE id = $1`;
    // A moment early is on the safe side: the way to the database and back.
    expect(await store.database.query(sql, [ending.id])).toEqual([{ inTime: true }]);
  });

  it('should have their last use recorded, to the minute', async () => {
    const last = async (): Promise<unknown> =>
      (
        await store.database.query(
          `SELECT last_used_at > now() - interval '1 second' AS "isNow" FROM access_tokens WHERE id = $1`,
          [token.id],
        )
      )[0];
    expect(await last()).toEqual({ isNow: null });
    expect(await verdict()).toBe(40003);
    await until(async () => JSON.stringify(await last()) === '{"isNow":true}');
    await change(`UPDATE access_tokens SET last_used_at = now() - interval '50 seconds'`);
    const end = performance.now() + 1500;
    while (performance.now() < end) expect(await verdict()).toBe(40003);
    expect(await last()).toEqual({ isNow: false });
    await change(`UPDATE access_tokens SET last_used_at = now() - interval '70 seconds'`);
    await until(async () => (await verdict()) === 40003 && JSON.stringify(await last()) === '{"isNow":true}');
  });

  it('should let no application start that takes them from a schema without their table', async () => {
    const module = PlantsAuthModule.forRoot({ issuedTokens: { url: store.database.url, schema: 'other' } });
    const starting = NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(starting).rejects.toThrow(/^schema other .* is not migrated: /);
  });

  it('should ask the issuer of JWTs with the first one, and be 50300 while it is away', async () => {
    expect(issuer.requests).toEqual([]);
    issuer.answer = json({}, 503);
    expect((await expectRefused(issuer.token(), 50300)).headers).not.toHaveProperty('www-authenticate');
    issuer.answer = undefined;
    await until(async () => (await verdict(bearer(issuer.token()))) === 40003);
  });

  it('should be asked to come back if the issuer may have made the key of a JWT just now, which is no failure', async () => {
    const counts = async (): Promise<unknown> => {
      const page = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
      return [
        'requests_total{error="50300"}',
        'request_duration_seconds_count{outcome="failed"}',
        'wrong_tokens_total',
      ].map((name) => Number(page.split(`\nplant_store_${name} `)[1]?.split('\n')[0]));
    };
    const newest = await signingKey('newest');
    const known = issuer.token();
    await until(async () => (await verdict(bearer(known))) === 40003);
    // This one has the keys fetched, if that was not just done.
    const errors = jest.spyOn(Logger.prototype, 'error');
    const lines = jest.spyOn(Logger.prototype, 'log');
    await until(async () => (await verdict(bearer(issuer.token({}, { kid: 'none' })))) === 50300);
    expect(lines.mock.calls.flat().join()).toContain('kid is "none", should be that of a key of the issuer');
    expect(errors).not.toHaveBeenCalled();
    jest.restoreAllMocks();
    const [answers = 0, failed, wrong = 0] = (await counts()) as number[];
    const { headers } = await expectRefused(issuer.token({}, {}, newest), 50300);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5);
    expect(await verdict(bearer(known))).toBe(40003);
    expect(await counts()).toEqual([answers + 1, failed, wrong + 1]);
    issuer.keys.push(newest);
    await until(async () => (await verdict(bearer(issuer.token({}, {}, newest)))) === 40003);
  });

  it('should keep an idempotency key for the principal that sent it', async () => {
    const rose = '{"id": 1, "name": "Rose"}';
    const create = async (headers: object): Promise<unknown> =>
      errorOf(await store.post(rose, { ...headers, 'Idempotency-Key': 'order-17' }));
    const sameName = await issueToken(store.database);
    const other = await issueToken(store.database, { name: 'other' });
    expect(await create(token.headers)).toBeUndefined();
    // Two tokens of one name are one principal: one replaces the other.
    expect(await create(sameName.headers)).toBeUndefined();
    for (const headers of [other.headers, bearer(TOKEN), bearer(issuer.token())])
      expect(await create(headers)).toBe(40901);
    expect(await store.database.query('SELECT created_by FROM plants')).toEqual([{ created_by: 'gardener' }]);
    await store.database.query('TRUNCATE plants');
    // Static tokens are one principal too.
    for (const one of [TOKEN, OTHER_TOKEN]) expect(await create(bearer(one))).toBeUndefined();
    expect(await create(token.headers)).toBe(40901);
  });
});

it('An issued token should not be wrong, but undecided, if its time is up after an outage in which the process stalls', async () => {
  const database = await createTestDatabase();
  const verifier = new IssuedTokenVerifier({ url: database.url, timeout: 150 });
  await database.drop();
  const failures = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const verdict = verifier.verify(makeToken());
  await until(() => failures.mock.calls.length > 0);
  const end = performance.now() + 250;
  // Then the retry and the end of the time are due together.
  while (performance.now() < end);
  await expect(verdict).rejects.toThrow('does not exist');
  failures.mockRestore();
  await verifier.onApplicationShutdown();
});
