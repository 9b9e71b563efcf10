import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken } from '../../src/auth/token-format.js';
import { UrlPool } from '../../src/database/store-pool.js';
import { giveTo } from '../../src/embedded-postgres/data-directory.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { Load } from '../support/http/load.js';
import { expectRefusal, type RawResponse } from '../support/http/request.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { expectFailure } from '../support/service/process.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { bearer, errorOf, issueToken, NO_PLANT } from '../support/tokens/tokens.js';
import { expectWithin, Stopwatch, until } from '../support/until.js';

const POOL_SIZE = 4;
const CLIENTS = 64;
const SESSIONS = `FROM pg_stat_activity WHERE application_name = 'plant-store'`;
const WAITS = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.createMigrated();
});
afterAll(() => server.remove());

const count = async (rows: string): Promise<number> => (await server.query(`SELECT ${rows}`)).length;

describe('A synchronous standby that is away', () => {
  let store: Store;

  beforeEach(async () => {
    await server.query('TRUNCATE plants');
    const variables = { DATABASE_POOL_SIZE: String(POOL_SIZE) };
    store = await startStoreOn({ url: server.url() } as Store['database'], variables);
  });
  afterEach(async () => {
    // Ends the wait of every commit.
    await wantStandby('');
    await store.stop();
  });

  async function wantStandby(name: string): Promise<void> {
    await server.set('synchronous_standby_names', name);
    const isSo = `WHERE current_setting('synchronous_standby_names') = '${name}'`;
    await until(async () => (await count(isSo)) === 1);
  }
  const awaited = (statement: string): Promise<void> =>
    until(async () => (await count(`${WAITS} AND query LIKE '%${statement}%'`)) === 1);
  const create = (headers = {}): Promise<RawResponse> => store.post('{"id":1,"name":"Rose"}', headers);

  it('should keep a plant from its 200 until it is there, or until somebody cancels the wait', async () => {
    for (const end of [`SELECT pg_cancel_backend(pid) ${WAITS}`, '']) {
      await server.query('TRUNCATE plants');
      await wantStandby('nobody');
      const answer = create();
      await awaited('INSERT');
      expect(await count('FROM plants')).toBe(0);
      await (end === '' ? wantStandby('') : server.query(end));
      expect(await answer).toMatchObject({ status: 200 });
      await wantStandby('');
      expect(await server.query('SELECT name FROM plants')).toEqual([{ name: 'Rose' }]);
    }
    expect(store.statistics.created).toBe(2);
  });

  it('should not confirm a repetition or a taken id while the standby may lack the first plant', async () => {
    await wantStandby('nobody');
    await server.query(
      `SET synchronous_commit TO local;
       INSERT INTO plants (id, name, idempotency_key, created_by) VALUES (1, 'Rose', 'key', 'static')`,
    );
    const answers = [create({ 'Idempotency-Key': 'key' }), create()];
    for (const answer of answers) expect(expectRefusal(await answer, 50400, 'contract')).toMatch('unknown');
    const later = create({ 'Idempotency-Key': 'key' });
    await awaited('pg_logical_emit_message');
    await wantStandby('');
    expect(await later).toMatchObject({ status: 200 });
  });

  it('should take at most five sessions by a pool of four, answer in time, and come back', async () => {
    const load = new Load(store.port, CLIENTS);
    await until(() => load.created.length > CLIENTS);
    await wantStandby('nobody');
    // One that ends, and the one in its place, may be there together for a moment.
    let within = performance.now();
    const watch = async (): Promise<void> => {
      if ((await count(SESSIONS)) <= POOL_SIZE + 1) within = performance.now();
      expect(performance.now() - within).toBeLessThan(3000);
    };
    for (let round = 0; round < 2; round += 1) {
      using stopwatch = new Stopwatch();
      const answer = create();
      let isAnswered = false;
      void answer.finally(() => (isAnswered = true));
      await until(async () => {
        await watch();
        return isAnswered;
      });
      expect(stopwatch.elapsed).toBeLessThan(6000);
      expect((await answer).status).toBe(400);
    }
    await wantStandby('');
    const before = load.created.length;
    await expectWithin(3000, async () => Promise.resolve(load.created.length > before));
    await load.stop();
    expect(await load.compareWith(server)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
  });
});

it('A token should be confirmed after a restart, and by no standby, which may not hear of a revocation', async () => {
  const { token } = await issueToken(server);
  const way = await TcpProxy.start(server.url());
  const verifier = new IssuedTokenVerifier({ url: way.url, timeout: 1000 });
  const isAccepted = (): Promise<boolean> => Promise.resolve(verifier.verify(token)).then(Boolean, () => false);
  await until(isAccepted);
  const standby = await server.startStandby();
  await until(isAccepted);
  way.leadTo(standby.url());
  way.reset();
  way.restore();
  await expectWithin(2000, async () => !(await isAccepted()));
  await expect(verifier.verify(token)).rejects.toThrow('it is a standby');
  // Without an end of the open connections.
  way.leadTo(server.url());
  await until(isAccepted);
  await verifier.onApplicationShutdown();
  await way.close();
  await standby.remove();
});

describe('A way to a server', () => {
  beforeAll(async () => {
    // Each signed by itself, so that it is its own authority, and with its key in one file.
    for (const name of ['server', 'foreign']) {
      const file = join(server.data, name);
      const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
      const options = `-x509 ${key} -subj /CN=${name} -addext subjectAltName=DNS:localhost`;
      await promisify(execFile)('openssl', ['req', ...options.split(' '), '-keyout', file, '-out', file]);
      await giveTo(server.account, file);
    }
    for (const setting of ['ssl_cert_file', 'ssl_key_file']) await server.set(setting, 'server');
    await server.set('ssl', 'on');
    await until(async () => (await server.query('SHOW ssl'))[0]?.ssl === 'on');
  });

  const byTcp = (mode: string, host: string, authority: string): string =>
    `${server.url().replace('127.0.0.1', host)}?sslmode=${mode}&sslrootcert=${join(server.data, authority)}`;
  const bySocket = (): string =>
    `${server.url().replace(`127.0.0.1:${server.port}`, '')}?host=${server.folder}&port=${server.port}`;

  it.each([
    { way: 'TLS', url: () => byTcp('verify-full', 'localhost', 'server'), ssl: true },
    { way: 'a unix socket', url: bySocket, ssl: false },
  ])('should be $way, where late statements end, also without a limit of the server', async ({ url, ssl }) => {
    const pool = new UrlPool({ url: url(), size: 1, timeout: 500 });
    expect(await pool.execute('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).toEqual([{ ssl }]);
    await pool.execute('SET statement_timeout = 0');
    await expect(pool.execute('SELECT pg_sleep(60)')).rejects.toThrow('did not answer');
    const sleeping = `FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'`;
    await until(async () => (await count(sleeping)) === 0);
    await pool.onApplicationShutdown();
  });

  it('should carry the look-ups of tokens too, over TLS to a server that is 200 ms away', async () => {
    const proxy = await TcpProxy.start(server.url());
    const far = byTcp('verify-full', 'localhost', 'server').replace(`:${server.port}`, `:${new URL(proxy.url).port}`);
    proxy.delay = 100;
    const { token } = await issueToken(server);
    const store = await startStoreOn({ url: far } as Store['database'], { STORAGE_TIMEOUT: '9000' });
    const verdict = async (one: string): Promise<unknown> => errorOf(await store.post(NO_PLANT, bearer(one)));
    expect([await verdict(token), await verdict(makeToken())]).toEqual([40003, 40101]);
    // The rest is not felt: it is confirmed before an answer is too old.
    using stopwatch = new Stopwatch();
    while (stopwatch.elapsed < 5000) {
      const before = stopwatch.elapsed;
      expect(await verdict(token)).toBe(40003);
      expect(stopwatch.elapsed - before).toBeLessThan(2 * proxy.delay);
      await setTimeout(50);
    }
    await server.query('UPDATE access_tokens SET revoked_at = now()');
    await expectWithin(2000, async () => (await verdict(token)) === 40101);
    await store.stop();
    await proxy.close();
  });

  it.each([
    [
      'a certificate of another name',
      () => byTcp('verify-full', '127.0.0.1', 'server'),
      'a host name of the certificate',
    ],
    ['a certificate of another authority', () => byTcp('require', 'localhost', 'foreign'), 'sslrootcert=/path/ca.crt'],
  ])('should not be TLS with %s, and a command says what mends it', async (_, url, advice) => {
    await expectFailure('token list', { DATABASE_URL: url() }, advice);
  });
});
