import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { makeToken } from '../../src/auth/token-format.js';
import { PlantsAuthModule } from '../../src/index.js';
import { expectRefusal } from '../support/http/refusal.js';
import { TOKEN } from '../support/http/request.js';
import { NO_PLANT, StoreInstances } from '../support/service/store-instances.js';
import { bearer, outcomeOf, type StoredToken } from '../support/tokens/issued-token.js';
import { AUDIENCE, json, JwtIssuer, signingKey } from '../support/tokens/jwt-issuer.js';
import { expectWithin, until } from '../support/until.js';

/** What is promised for a change to take effect on every instance. */
const PROMISED_MS = 2000;

describe('Access tokens on two instances', () => {
  let issuer: JwtIssuer;
  let instances: StoreInstances;
  let token: StoredToken;

  beforeAll(async () => {
    issuer = await JwtIssuer.start([await signingKey('a')]);
    const JWT_AUDIENCE = `https://houses.example, ${AUDIENCE}`;
    instances = await StoreInstances.start({ ...issuer.variables, JWT_AUDIENCE });
  });
  afterAll(async () => {
    await instances.stop();
    await issuer[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    token = await instances.issue();
  });

  const change = (sql: string): Promise<Record<string, unknown>[]> =>
    instances.database.query(`${sql} WHERE id = ${token.id}`);
  const expectBoth = async (error: number, { headers } = token): Promise<void> => {
    expect(await instances.verdicts(headers)).toEqual([error, error]);
  };
  const expectSoon = (error: number, { headers } = token): Promise<void> =>
    expectWithin(PROMISED_MS, async () => (await instances.verdicts(headers)).every((verdict) => verdict === error));

  it('should cost no connection before one comes, and be valid in addition to static ones', async () => {
    for (const stranger of [TOKEN, `${TOKEN}x`, token.token.slice(0, -1), `${token.token.slice(0, -1)}-`, 'a.b.c'])
      await instances.verdicts(bearer(stranger));
    expect(await instances.tokenSessions()).toEqual([]);
    for (const [id, store] of instances.stores.entries())
      expect(await store.post(`{"id":${id},"name":"Rose"}`, token.headers)).toMatchObject({ status: 200 });
    expect(await instances.tokenSessions()).toHaveLength(2);
    await until(async () => (await change('SELECT last_used_at FROM access_tokens'))[0]?.last_used_at instanceof Date);
    expect(await instances.verdicts({})).toEqual([40003, 40003]);
  });

  it('should be refused with the reason if they have a typing error', async () => {
    const response = await instances.stores[0].post(NO_PLANT, bearer(`${token.token.slice(0, -1)}-`));
    expect(expectRefusal(response, 40101, 'contract')).toContain('it has a typing error');
  });

  it('should be right soon although somebody tried them before they were there', async () => {
    const early = makeToken();
    expect(await instances.verdicts(bearer(early))).toEqual([40101, 40101]);
    await expectSoon(40003, await instances.issue({ token: early }));
  });

  it.each(["'{plants:read}'", 'NULL'])(
    'should be refused with the scopes %s, and not once they have it',
    async (scopes) => {
      await change(`UPDATE access_tokens SET scopes = ${scopes}`);
      const response = await instances.stores[0].post(NO_PLANT, token.headers);
      expect(expectRefusal(response, 40300, 'contract')).toMatch('plants:create');
      const challenge = 'Bearer realm="plants", error="insufficient_scope", scope="plants:create"';
      expect(response.headers['www-authenticate']).toBe(challenge);
      await change(`UPDATE access_tokens SET scopes = '{plants:create}'`);
      await expectSoon(40003);
    },
  );

  it.each([
    ['revoked', 'UPDATE access_tokens SET revoked_at = now()'],
    ['expired', `UPDATE access_tokens SET expires_at = now() - interval '1 second'`],
    ['deleted', 'DELETE FROM access_tokens'],
  ])('should be refused on every instance within 2 s, and no other one: the token is %s', async (_, sql) => {
    const other = await instances.issue({ name: 'other' });
    for (const each of [token, other]) await expectBoth(40003, each);
    await change(sql);
    await expectSoon(40101);
    await expectBoth(40003, other);
    if (!sql.includes('revoked_at')) return;
    await change('UPDATE access_tokens SET revoked_at = NULL');
    await expectSoon(40003);
  });

  it.each(['1 hour', '100000 years', 'infinity'])('should be right before they expire, in %s', async (expires) => {
    const lasting = await instances.issue({ expires });
    // From the database, and then from memory.
    for (let i = 0; i < 2; i++) await expectBoth(40003, lasting);
  });

  it('should be wrong at their end, which their successor outlives', async () => {
    await expectBoth(40101, await instances.issue({ expires: '-1 second' }));
    const ending = await instances.issue({ expires: '2 seconds' });
    await expectBoth(40003, ending);
    await until(async () => (await instances.verdicts(ending.headers)).every((verdict) => verdict === 40101));
    const sql = `SELECT extract(epoch FROM now() - expires_at)::float8 AS late FROM access_tokens WHERE id = ${ending.id}`;
    // A moment early is on the safe side: the way to the database and back.
    expect(Math.abs((await instances.database.query<{ late: number }>(sql))[0]?.late ?? NaN)).toBeLessThan(1.5);
    await expectBoth(40003);
  });

  it.each([
    ['a schema without them', { schema: 'other' }, /^schema other .* is not migrated: /],
    ['a server that is away', { url: 'postgresql://a@127.0.0.1:1/plants' }, /^cannot connect to database plants/],
  ])('should not let an application start that takes them from %s', async (_, options, message) => {
    const module = PlantsAuthModule.forRoot({ issuedTokens: { url: instances.database.url, ...options } });
    const start = NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(start).rejects.toThrow(message);
  });

  it('should ask the issuer of JWTs with the first one, and say when it cannot decide, while other tokens are valid', async () => {
    const [store] = instances.stores;
    expect(issuer.requests).toEqual([]);
    issuer.answer = json({}, 503);
    const response = await store.post(NO_PLANT, bearer(issuer.token()));
    expectRefusal(response, 50300, 'contract');
    expect(response.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[0-9]+$/) });
    expect(response.headers).not.toHaveProperty('www-authenticate');
    await expectBoth(40003, { ...token, headers: bearer(TOKEN) });
    expect(issuer.requests).toHaveLength(1);
    issuer.answer = undefined;
    await until(async () => (await outcomeOf(store, issuer.token())) === 200);
    const long = issuer.token({ aud: ['https://houses.example'], groups: 'x'.repeat(11_000) });
    expect(await outcomeOf(store, long)).toBe(200);
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
