import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken, tokenKey } from '../../src/auth/token-format.js';
import { UrlDatabase } from '../../src/database/url-database.js';
import { giveTo } from '../../src/service/embedded-postgres/data-directory.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import type { TestDatabase } from '../support/database/test-database.js';
import { Load } from '../support/http/load.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { startStoreOn } from '../support/service/store.js';
import { expectWithin, Stopwatch, until } from '../support/until.js';

const POOL_SIZE = 6;
const STORAGE_TIMEOUT = 1500;
const CLIENTS = 64;

describe('A PostgreSQL server', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.createMigrated();
  });
  afterAll(() => server.remove());

  it('should have no more sessions of a store than its pool while its standby is away, and be left in time', async () => {
    const variables = { DATABASE_POOL_SIZE: String(POOL_SIZE), STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) };
    const store = await startStoreOn({ url: server.url() } as TestDatabase, variables);
    const sessions = (): Promise<{ wait_event: string | null }[]> =>
      server.query(`SELECT wait_event FROM pg_stat_activity WHERE application_name = 'plant-store'`);
    const load = new Load(store.port, CLIENTS);
    await until(() => load.created.length > CLIENTS);
    await server.set('synchronous_standby_names', 'nobody');
    await until(async () => (await sessions()).some(({ wait_event }) => wait_event === 'SyncRep'));
    // One that ends, and the one in its place, may be there together for a moment.
    let within = performance.now();
    await until(async () => {
      if ((await sessions()).length <= POOL_SIZE + 1) within = performance.now();
      expect(performance.now() - within).toBeLessThan(3000);
      return load.failures.length > 3 * CLIENTS;
    });
    const created = load.created.length;
    await server.set('synchronous_standby_names', '');
    await until(() => load.created.length > created + CLIENTS);

    await server.set('synchronous_standby_names', 'nobody');
    await load.stop();
    using stopwatch = new Stopwatch();
    await store.stop();
    expect(stopwatch.elapsed).toBeLessThan(2 * STORAGE_TIMEOUT);
    await server.set('synchronous_standby_names', '');
    await until(async () => (await sessions()).length === 0);
  });

  it('should confirm a token after a restart, and none as a standby: it may not hear of a revocation', async () => {
    const token = makeToken();
    await server.query(`INSERT INTO access_tokens (name, digest) VALUES ('gardener', '\\x${tokenKey(token)}')`);
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
    await expect(verifier.verify(token)).rejects.toThrow('the server is a standby');
    // Without an end of the open connections.
    way.leadTo(server.url());
    await until(isAccepted);
    await verifier.onApplicationShutdown();
    await way.close();
    await standby.remove();
  });

  describe('with TLS', () => {
    beforeAll(async () => {
      // Each signed by itself, so that it is its own authority, and with its key in one file.
      for (const name of ['server', 'foreign']) {
        const file = join(server.data, name);
        const options = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${name} -addext subjectAltName=DNS:localhost`;
        await promisify(execFile)('openssl', ['req', ...options.split(' '), '-keyout', file, '-out', file]);
        await giveTo(server.account, file);
      }
      for (const setting of ['ssl_cert_file', 'ssl_key_file']) await server.set(setting, 'server');
      await server.set('ssl', 'on');
      await until(async () => (await server.query('SHOW ssl'))[0]?.ssl === 'on');
    });

    /** The server has no time limit of its own behind a pooler. */
    const open = (host: string, mode: string, authority = 'server'): UrlDatabase => {
      const address = server.url().replace(/@[^:/]*/, `@${host}`);
      const url = `${address}?sslmode=${mode}&sslrootcert=${join(server.data, authority)}&pgbouncer=true`;
      return new UrlDatabase({ url, timeout: 500 });
    };

    it.each([
      ['verify-full', true],
      ['require', true],
      ['disable', false],
    ])('should be used with sslmode=%s, and end a statement that is late', async (mode, ssl) => {
      const database = open('localhost', mode);
      const isEncrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
      expect(await database.query(isEncrypted)).toEqual([{ ssl }]);
      await expect(database.query('SELECT pg_sleep(60)')).rejects.toThrow('did not answer');
      const sleeping = `SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'`;
      await until(async () => (await server.query(sleeping)).length === 0);
      await database.onApplicationShutdown();
    });

    it.each([
      ['another host', '127.0.0.1', 'server'],
      ['another authority', 'localhost', 'foreign'],
    ])('should be refused with the certificate of %s', async (_, host, authority) => {
      const database = open(host, 'verify-full', authority);
      const cause = expect.objectContaining({ message: expect.stringContaining('certificate') });
      await expect(database.query('SELECT')).rejects.toMatchObject({ name: 'DatabaseUnreachableError', cause });
      await database.onApplicationShutdown();
    });
  });
});
