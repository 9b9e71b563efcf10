import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken, tokenKey } from '../../src/auth/token-format.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/store.js';
import { endTokenSessions, errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { expectWithin, Stopwatch } from '../support/stopwatch.js';
import { bearer, issueToken, type StoredToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const STORAGE_TIMEOUT = 3000;
const SLACK = 2 * STORAGE_TIMEOUT;
const PROMISED_MS = 2000;

describe('Issued access tokens and their database', () => {
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

  it.each<[string, () => void]>([
    [
      'breaks every connection',
      () => {
        store.proxy.reset();
      },
    ],
    [
      'falls silent',
      () => {
        store.proxy.freeze();
      },
    ],
  ])('should wait as long as a create if it %s, and be right again when it is back', async (_, fail) => {
    fail();
    for (const token of [makeToken(), known.token]) {
      using stopwatch = new Stopwatch();
      // The one that was used a moment ago is still confirmed, for two seconds at most.
      const response = await ask(token);
      expect(stopwatch.elapsed).toBeLessThan(STORAGE_TIMEOUT + SLACK);
      store.expectNothingWritten(response);
    }
    expect(await verdict(known.token.slice(0, -1))).toBe(40101);

    store.proxy.restore();
    await until(async () => (await verdict(known.token)) === 40003);
    expect(await verdict(makeToken())).toBe(40101);
  });

  it('should not be refused for a database that is away for a moment', async () => {
    const unknown = await issueToken(store.database, { name: 'unknown' });
    store.proxy.reset();
    const answers = Promise.all([unknown, unknown].map(({ token }) => verdict(token)));
    await new Promise((done) => setTimeout(done, STORAGE_TIMEOUT / 3));
    store.proxy.restore();
    expect(await answers).toEqual([40003, 40003]);
  });

  it('should be wrong within 2 s after they were revoked, twenty times', async () => {
    for (let i = 0; i < 20; i++) {
      const token = await issueToken(store.database);
      expect(await verdict(token.token)).toBe(40003);
      await revoke();
      await expectWithin(PROMISED_MS, async () => (await verdict(token.token)) === 40101);
    }
  }, 120_000);

  it.each<[string, () => unknown]>([
    [
      'falls silent, and another one can be made',
      () => {
        store.proxy.freezeOpen();
      },
    ],
    [
      'falls silent, and so does the next one',
      () => {
        store.proxy.freezeOpen(1);
      },
    ],
    ['was ended', () => endTokenSessions(store.database)],
    ['is slow', () => (store.proxy.delay = 200)],
    ['takes most of a second for each answer', () => (store.proxy.delay = 430)],
  ])('should not be let in 2 s after they were revoked if their connection %s', async (_, fail) => {
    await fail();
    await revoke();
    await expectWithin(PROMISED_MS, async () => (await verdict(known.token)) !== 40003);
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should not wait, if they are confirmed, for look-ups that wait for a lock', async () => {
    await using lock = await TableLock.take(store.database, 'access_tokens');
    const confirmed = performance.now();
    const unknown = verdict(makeToken());
    await lock.awaited();
    while (performance.now() < confirmed + 1000) {
      using stopwatch = new Stopwatch();
      expect(await verdict(known.token)).toBe(40003);
      expect(stopwatch.elapsed).toBeLessThan(500);
    }
    await lock.release();
    expect(await unknown).toBe(40101);
  });

  it('should not be lost with their table', async () => {
    await store.database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    store.expectNothingWritten(await ask(makeToken()));
    await store.database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
    await until(async () => (await verdict(makeToken())) === 40101);
  });
});

describe('Ten thousand issued access tokens in use', () => {
  const COUNT = 10_000;
  const ROUNDS = 5;
  let database: TestDatabase;
  let proxy: TcpProxy;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
  });
  afterEach(async () => {
    await proxy.close();
    await database.drop();
  });

  it('should cost one statement a round', async () => {
    const tokens = Array.from({ length: COUNT }, makeToken);
    await database.query(
      `INSERT INTO access_tokens (name, digest, scopes) SELECT 'gardener', sha256(token::bytea), '{}' FROM unnest($1::text[]) AS token`,
      [tokens],
    );
    const verifier = new IssuedTokenVerifier({ url: proxy.url });
    const verdicts = await Promise.all(tokens.map(async (token) => verifier.verify(token)));
    expect(verdicts.every((verdict) => verdict?.name === 'gardener')).toBe(true);
    const statements = proxy.counting('pg_is_in_recovery');
    const begin = performance.now();
    await until(() => statements.count >= ROUNDS);
    expect(performance.now() - begin).toBeGreaterThan((ROUNDS - 1) * 500);
    const now = tokens.map((token) => verifier.verify(token));
    expect(now.filter((verdict) => verdict instanceof Promise)).toEqual([]);
    await verifier.onApplicationShutdown();
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

  it.each<[string, () => void]>([
    ['that answers', () => undefined],
    [
      'that is silent',
      () => {
        proxy.freeze();
      },
    ],
    [
      'that is away',
      () => {
        proxy.reset();
      },
    ],
  ])('should end with the application, on a database %s', async (_, fail) => {
    const verifier = new IssuedTokenVerifier({ url: proxy.url });
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    fail();
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
    await using service = await PlantStoreProcess.serve(proxy.url, { STORAGE_TIMEOUT: '1000' });
    const lines = (text: string): unknown[] =>
      service.log.filter(({ message }) => String(message).startsWith(`Access tokens ${text}`));
    expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(40003);
    proxy.reset();
    for (let i = 0; i < 3; i++) expect(errorOf(await service.post(NO_PLANT, bearer(makeToken())))).toBe(50300);
    expect(lines('cannot be looked up')).toHaveLength(1);
    proxy.restore();
    await service.printed(/can be looked up again/);
    expect(lines('can')).toHaveLength(2);
  });
});

describe('A standby', () => {
  it('should confirm no access token: it may not hear of a revocation', async () => {
    const primary = await PostgresServer.createMigrated();
    let standby: PostgresServer | undefined;
    try {
      const token = makeToken();
      await primary.query(`INSERT INTO access_tokens (name, digest) VALUES ('gardener', '\\x${tokenKey(token)}')`);
      standby = await primary.startStandby();
      const verifier = new IssuedTokenVerifier({ url: standby.url(), timeout: 1000 });
      await expect(verifier.verify(token)).rejects.toThrow('the server is a standby');
      await verifier.onApplicationShutdown();
    } finally {
      await standby?.remove();
      await primary.remove();
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
    await using service = await PlantStoreProcess.serve(url.href, { STORAGE_TIMEOUT: '1000' });
    await service.printed(new RegExp(`GRANT SELECT ON public.access_tokens TO ${role}; GRANT UPDATE ON`));
    expect((await service.post('{"id":1,"name":"Rose"}'))?.status).toBe(200);
    expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(50300);
    await service.printed(/permission denied for table access_tokens/);

    await database.query(`GRANT SELECT ON access_tokens TO ${role}`);
    await until(async () => errorOf(await service.post(NO_PLANT, bearer(token))) === 40003);
    await service.printed(/last use of access tokens cannot be recorded: permission denied/);
  });
});
