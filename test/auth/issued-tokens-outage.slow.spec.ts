import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { IssuedTokenVerifier } from '../../src/auth/tokens/issued-token-verifier.js';
import { makeToken, tokenDigest } from '../../src/auth/tokens/token.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/proxied-store.js';
import { endTokenSessions, errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { expectWithin, Stopwatch } from '../support/stopwatch.js';
import { bearer, issueToken, type StoredToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const STORAGE_TIMEOUT = 1500;
const SLACK = 3 * STORAGE_TIMEOUT;

describe('Issued access tokens without their database', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeAll(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) });
  });
  afterAll(() => store.stop());
  beforeEach(async () => {
    known = await issueToken(store.database);
    await until(async () => (await verdict(known.token)) === 40003);
  });
  afterEach(() => {
    store.proxy.restore();
  });

  const ask = (token: string): Promise<RawResponse> => store.sendBody(NO_PLANT, bearer(token));
  const verdict = async (token: string): Promise<number> => errorOf(await ask(token));
  const revoke = (): Promise<unknown> => store.database.query('UPDATE access_tokens SET revoked_at = now()');

  async function expectUndecided(token: string): Promise<void> {
    const start = performance.now();
    const response = await ask(token);
    expect(performance.now() - start).toBeLessThan(STORAGE_TIMEOUT + SLACK);
    store.expectNothingWritten(response);
  }

  it.each([
    [
      'breaks every connection',
      (): void => {
        store.proxy.reset();
      },
    ],
    [
      'falls silent',
      (): void => {
        store.proxy.freeze();
      },
    ],
  ])('should be right if it %s, if they were before; others are not decided', async (_, fail) => {
    const unknown = await issueToken(store.database, { name: 'unknown' });
    fail();

    await expectUndecided(unknown.token);
    await expectUndecided(makeToken());
    expect(await verdict(known.token)).toBe(40003);
    store.expectNothingWritten(await store.create(1, known.headers));
    expect(await verdict(`${known.token.slice(0, -1)}_`)).toBe(40101);
    expect(await verdict(known.token.slice(0, -1))).toBe(40101);

    store.proxy.restore();
    await until(async () => (await verdict(unknown.token)) === 40003);
    expect(await verdict(makeToken())).toBe(40101);
  });

  it('should be looked up on another connection if theirs was ended', async () => {
    await endTokenSessions(store.database);
    expect(await verdict(makeToken())).toBe(40101);
    await endTokenSessions(store.database);
    expect(await verdict((await issueToken(store.database)).token)).toBe(40003);
  });

  it('should be wrong soon after it is back, if they were revoked meanwhile', async () => {
    store.proxy.reset();
    await expectUndecided(makeToken());
    await revoke();
    expect(await verdict(known.token)).toBe(40003);
    store.proxy.restore();
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should be wrong within 2 s after they were revoked if the connection falls silent, and another can be made', async () => {
    store.proxy.freezeOpen();
    await revoke();
    await expectWithin(2000, async () => (await verdict(known.token)) === 40101);
  });

  it('should be wrong soon after they were revoked if the next connection hangs as well', async () => {
    store.proxy.freezeOpen(1);
    await revoke();
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should be wrong soon after they were revoked if the database answers slowly', async () => {
    store.proxy.delay = 200;
    await revoke();
    await until(async () => (await verdict(known.token)) === 40101);
    expect(await verdict((await issueToken(store.database)).token)).toBe(40003);
    expect(await verdict(makeToken())).toBe(40101);
  });

  it('should be wrong within 2 s after they were revoked if each answer takes most of a second, and their use is recorded', async () => {
    const used = await issueToken(store.database);
    const lookUp = store.proxy.counting(tokenDigest(used.token).toString('hex'));
    store.proxy.delay = 430;
    // From now on each look-up is a confirmation too.
    expect(await verdict(makeToken())).toBe(40101);
    const answer = verdict(used.token);
    await until(() => lookUp.count > 0);
    const [sent] = await store.database.query<{ at: string }>('SELECT clock_timestamp()::text AS at');
    const carriedOut = `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store-tokens' AND datname = current_database()
      AND state = 'idle' AND query_start > $1::timestamptz`;
    await until(async () => (await store.database.query(carriedOut, [sent?.at])).length > 0);
    await revoke();
    await expectWithin(2000, async () => (await verdict(used.token)) === 40101);
    // The look-up has not seen it, unless the wait for it was too long.
    expect([40003, 50300]).toContain(await answer);
  });

  it('should not be lost with their table', async () => {
    await store.database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    await expectUndecided(makeToken());
    expect(await verdict(known.token)).toBe(40003);
    await store.database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
    await until(async () => (await verdict(makeToken())) === 40101);
  });
});

describe('Issued access tokens that cannot be decided on', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) });
  });
  afterEach(() => store.stop());

  it('should be refused with 50300, and not as wrong ones', async () => {
    const ask = (token: string): Promise<RawResponse> => store.sendBody(NO_PLANT, bearer(token));
    const known = await issueToken(store.database);
    const guess = makeToken();
    store.proxy.reset();
    for (const token of [guess, guess, makeToken(), guess, makeToken()]) store.expectNothingWritten(await ask(token));

    store.proxy.restore();
    await until(async () => errorOf(await ask(known.token)) === 40003);
    expect(errorOf(await ask(guess))).toBe(40101);
  });
});

describe('The connection for access tokens', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let token: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    ({ token } = await issueToken(database));
  });
  afterEach(async () => {
    proxy.restore();
    await proxy.close();
    await database.drop();
  });

  it.each([
    ['that answers', (): void => undefined],
    [
      'that is silent',
      (): void => {
        proxy.freeze();
      },
    ],
    [
      'that is away',
      (): void => {
        proxy.reset();
      },
    ],
  ])('should end with the application, on a database %s', async (_, fail) => {
    const verifier = new IssuedTokenVerifier({ url: proxy.url });
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    fail();
    // Waits for the database, or is refused by then.
    const unknown = Promise.resolve(verifier.verify(makeToken())).catch((error: unknown) => error);

    using stopwatch = new Stopwatch();
    await verifier.onApplicationShutdown();
    expect(stopwatch.elapsed).toBeLessThan(3000);
    expect(await unknown).not.toHaveProperty('scopes');
    await expect(verifier.verify(makeToken())).rejects.toThrow('shut down');
    proxy.restore();
    await until(() => proxy.connections === 0);
  });

  it('should not keep a process from ending that does not close its application', async () => {
    const script = new URL('../support/tokens/verify-once.mjs', import.meta.url).pathname;
    const run = new PlantStoreProcess([proxy.url, token], { script });
    expect(await run.ended).toBe(0);
    expect(run.output).toBe('gardener\n');
    await until(() => proxy.connections === 0);
  });

  it('should be reported in the log once when it is lost, and once when it is back', async () => {
    const service = await PlantStoreProcess.serve(proxy.url, { STORAGE_TIMEOUT: '1000' });
    try {
      const lines = (text: string): unknown[] =>
        service.log.filter(
          ({ context, message }) => context === 'IssuedTokenVerifier' && String(message).includes(text),
        );
      expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(40003);
      expect(errorOf(await service.post(NO_PLANT, bearer(makeToken())))).toBe(40101);
      // The log would say too that the use cannot be recorded.
      await until(
        async () => (await database.query('SELECT FROM access_tokens WHERE last_used_at > created_at')).length > 0,
      );
      proxy.reset();
      for (let i = 0; i < 5; i++) expect(errorOf(await service.post(NO_PLANT, bearer(makeToken())))).toBe(50300);
      expect(lines('cannot be looked up')).toHaveLength(1);
      proxy.restore();
      await service.printed(/can be looked up again/);
      expect(lines('')).toEqual([
        expect.objectContaining({
          level: 'warn',
          message: expect.stringMatching(/valid for 5 more minutes/),
        }),
        expect.objectContaining({ level: 'info' }),
      ]);
    } finally {
      await service[Symbol.asyncDispose]();
    }
  });
});

describe('A role that may not read access tokens', () => {
  let database: TestDatabase;
  let role: string;
  let url: URL;

  beforeEach(async () => {
    database = await createTestDatabase();
    role = `role_${randomBytes(6).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}`);
    await database.query(`GRANT SELECT, INSERT ON plants TO ${role}`);
    url = new URL(database.url);
    url.username = role;
    url.password = 'secret';
  });
  afterEach(async () => {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
    await database.drop();
  });

  it('should decide about static tokens, and say of others that it can not', async () => {
    const { token } = await issueToken(database);
    const service = await PlantStoreProcess.serve(url.href);
    try {
      await service.printed(new RegExp(`GRANT SELECT ON public.access_tokens TO ${role}; GRANT UPDATE ON`));
      expect((await service.post('{"id":1,"name":"Rose"}'))?.status).toBe(200);
      expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(50300);
      await service.printed(/permission denied for table access_tokens/);

      await database.query(`GRANT SELECT ON access_tokens TO ${role}`);
      await until(async () => errorOf(await service.post(NO_PLANT, bearer(token))) === 40003);
      await service.printed(/last use of access tokens cannot be recorded: permission denied/);
    } finally {
      await service[Symbol.asyncDispose]();
    }
  });
});
