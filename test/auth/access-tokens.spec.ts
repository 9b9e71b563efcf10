import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PlantsAuthModule } from '../../src/index.js';
import { expectRefusal, type RawResponse, TOKEN } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';
import {
  bearer,
  errorOf,
  issueToken,
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

  it.each([
    ['revoked', 'UPDATE access_tokens SET revoked_at = now()'],
    ['expired', `UPDATE access_tokens SET expires_at = now() - interval '1 second'`],
    ['deleted', 'DELETE FROM access_tokens'],
  ])('should be refused within 2 s, and no other one: the token is %s', async (_, sql) => {
    const other = await issueToken(store.database);
    for (const { headers } of [token, other]) expect(await verdict(headers)).toBe(40003);
    await change(sql);
    await expectWithin(PROMISED_MS, async () => (await verdict()) === 40101);
    expect(await verdict(other.headers)).toBe(40003);
  });

  it('should be right before they expire, and wrong at their end', async () => {
    const endless = await issueToken(store.database, { expires: 'infinity' });
    const ending = await issueToken(store.database, { expires: '2 seconds' });
    // From the database, and then from memory.
    for (const { headers } of [endless, endless, ending]) expect(await verdict(headers)).toBe(40003);
    await until(async () => (await verdict(ending.headers)) === 40101);
  });

  it('should be accepted if they were issued before, with a checksum at their end', async () => {
    const digest = String.raw`\xf44ffa3e926e30d2b11e010bd06dfa76428be5bee592ff81fcd96f520fcda8cc`;
    await store.database.query('INSERT INTO access_tokens (name, digest) VALUES ($1, $2)', ['old', digest]);
    // It has no scope.
    await expectRefused('plant_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL', 40300);
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
    await change(`UPDATE access_tokens SET last_used_at = now() - interval '70 seconds'`);
    await until(async () => (await verdict()) === 40003 && JSON.stringify(await last()) === '{"isNow":true}');
  });

  it('should let no application start that takes them from a schema without their table', async () => {
    const module = PlantsAuthModule.forRoot({ issuedTokens: { url: store.database.url, schema: 'other' } });
    const starting = NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(starting).rejects.toThrow(/^schema other .* is not migrated: /);
  });

  it('should be refused with 50300, and count as no failure, if the key of a JWT may be too new', async () => {
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
