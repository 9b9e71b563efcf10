import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken, tokenKey } from '../../src/auth/token-format.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/store.js';
import { errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { bearer, issueToken, type StoredToken } from '../support/tokens/issued-token.js';
import { expectWithin, Stopwatch, until } from '../support/until.js';

const STORAGE_TIMEOUT = 3000;
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

  const verdict = async (token: string): Promise<number> => errorOf(await store.sendBody(NO_PLANT, bearer(token)));

  it.each(['reset', 'freeze'] as const)(
    'should wait as long as a create after a %s, and be right again when it is over',
    async (fail) => {
      store.proxy[fail]();
      for (const token of [makeToken(), known.token]) {
        using stopwatch = new Stopwatch();
        // The one that was used a moment ago is still confirmed, for two seconds at most.
        store.expectNothingWritten(await store.sendBody(NO_PLANT, bearer(token)));
        expect(stopwatch.elapsed).toBeLessThan(3 * STORAGE_TIMEOUT);
      }
      expect(await verdict(known.token.slice(0, -1))).toBe(40101);
      store.proxy.restore();
      await until(async () => (await verdict(known.token)) === 40003);
      expect(await verdict(makeToken())).toBe(40101);
    },
  );

  it('should not be refused for a database that is away for a moment', async () => {
    const unknown = await issueToken(store.database, { name: 'unknown' });
    store.proxy.reset();
    const answers = Promise.all([unknown, unknown].map(({ token }) => verdict(token)));
    await new Promise((done) => setTimeout(done, STORAGE_TIMEOUT / 3));
    store.proxy.restore();
    expect(await answers).toEqual([40003, 40003]);
  });

  it('should not be let in 2 s after they were revoked, though the connection is silent, and so is the next one', async () => {
    store.proxy.freezeOpen(1);
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
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
});

describe(IssuedTokenVerifier.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let token: string;
  let verifier: IssuedTokenVerifier;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    ({ token } = await issueToken(database));
    verifier = new IssuedTokenVerifier({ url: proxy.url });
  });
  afterEach(async () => {
    await verifier.onApplicationShutdown();
    proxy.restore();
    await proxy.close();
    await database.drop();
  });

  it('should send one statement a round for ten thousand tokens', async () => {
    const ROUNDS = 5;
    const tokens = Array.from({ length: 10_000 }, makeToken);
    await database.query(
      `INSERT INTO access_tokens (name, digest, scopes) SELECT 'gardener', sha256(token::bytea), '{}' FROM unnest($1::text[]) AS token`,
      [tokens],
    );
    const verdicts = await Promise.all(tokens.map(async (one) => verifier.verify(one)));
    expect(verdicts.filter((verdict) => verdict?.name !== 'gardener')).toEqual([]);
    const statements = proxy.counting('pg_is_in_recovery');
    const begin = performance.now();
    await until(() => statements.count >= ROUNDS);
    expect(performance.now() - begin).toBeGreaterThan((ROUNDS - 1) * 500);
    expect(tokens.filter((one) => verifier.verify(one) instanceof Promise)).toEqual([]);
  });

  it('should confirm a token whose last use cannot be recorded, as another session has locked it', async () => {
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN; UPDATE access_tokens SET name = name');
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    const statements = proxy.counting('pg_is_in_recovery');
    await until(() => statements.count >= 5);
    expect(verifier.verify(token)).toMatchObject({ name: 'gardener' });
    await holder.end();
  });

  it('should end with the application though the database is silent, and leave no connection', async () => {
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    proxy.freeze();
    const unknown = Promise.resolve(verifier.verify(makeToken())).catch((error: unknown) => error);
    using stopwatch = new Stopwatch();
    await verifier.onApplicationShutdown();
    expect(stopwatch.elapsed).toBeLessThan(3000);
    expect(await unknown).not.toHaveProperty('scopes');
    proxy.restore();
    await until(() => proxy.connections === 0);
  });

  it('should not keep a process from ending that does not close its application', async () => {
    const file = new URL('../../dist/auth/issued-token.verifier.js', import.meta.url);
    const code = `const { IssuedTokenVerifier } = require(${JSON.stringify(file.pathname)});
      new IssuedTokenVerifier({ url: process.argv[1] }).verify(process.argv[2]).then(({ name }) => console.log(name));`;
    const run = new PlantStoreProcess([code, proxy.url, token], { script: '-e' });
    expect(await run.ended).toBe(0);
    expect(run.output).toBe('gardener\n');
  });

  it('should report once that the database is away, and once that it is back', async () => {
    await using service = await PlantStoreProcess.serve(proxy.url, { STORAGE_TIMEOUT: '1000' });
    const lines = (): unknown[] => service.log.filter(({ message }) => String(message).startsWith('Access tokens can'));
    expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(40003);
    proxy.reset();
    for (let i = 0; i < 3; i++) expect(errorOf(await service.post(NO_PLANT, bearer(makeToken())))).toBe(50300);
    expect(lines()).toHaveLength(1);
    proxy.restore();
    await service.printed(/can be looked up again/);
    expect(lines()).toHaveLength(2);
  });

  it('should accept a token after a restart of PostgreSQL, and none on a standby: it may not hear of a revocation', async () => {
    const primary = await PostgresServer.createMigrated();
    await primary.query(`INSERT INTO access_tokens (name, digest) VALUES ('gardener', '\\x${tokenKey(token)}')`);
    const way = await TcpProxy.start(primary.url());
    const moving = new IssuedTokenVerifier({ url: way.url, timeout: 1000 });
    const isAccepted = (): Promise<boolean> => Promise.resolve(moving.verify(token)).then(Boolean, () => false);
    await until(isAccepted);
    const standby = await primary.startStandby();
    await until(isAccepted);
    way.leadTo(standby.url());
    way.reset();
    way.restore();
    await expectWithin(PROMISED_MS, async () => !(await isAccepted()));
    await expect(moving.verify(token)).rejects.toThrow('the server is a standby');
    // Without an end of the open connections.
    way.leadTo(primary.url());
    await until(isAccepted);
    await moving.onApplicationShutdown();
    await way.close();
    await standby.remove();
    await primary.remove();
  });
});
