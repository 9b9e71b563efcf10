import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { UrlDatabase } from '../../src/database/url-database.js';
import { giveTo } from '../../src/service/embedded-postgres/data-directory.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import type { TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const POOL_SIZE = 6;
const STORAGE_TIMEOUT = 1500;
const CLIENTS = 64;

describe('A PostgreSQL server', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.createMigrated();
  });
  afterAll(() => server.remove());

  const start = (url = server.url()): Promise<Store> => {
    const variables = { DATABASE_POOL_SIZE: String(POOL_SIZE), STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) };
    return startStoreOn({ url } as TestDatabase, variables);
  };
  const sessions = (): Promise<{ wait_event: string | null; ssl: boolean }[]> =>
    server.query(`SELECT wait_event, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
      WHERE application_name = 'plant-store'`);

  it('should have no more sessions of a store than its pool while its standby is away, and be left in time', async () => {
    const store = await start();
    const clients = CreatingClients.start(store.port, CLIENTS);
    await until(() => clients.created.length > CLIENTS);
    await server.set('synchronous_standby_names', 'nobody');
    await until(async () => (await sessions()).some(({ wait_event }) => wait_event === 'SyncRep'));
    // One that ends, and the one in its place, may be there together for a moment.
    let within = performance.now();
    await until(async () => {
      if ((await sessions()).length <= POOL_SIZE + 1) within = performance.now();
      expect(performance.now() - within).toBeLessThan(3000);
      return clients.refusals.length > 3 * CLIENTS;
    });
    const created = clients.created.length;
    await server.set('synchronous_standby_names', '');
    await until(() => clients.created.length > created + CLIENTS);

    await server.set('synchronous_standby_names', 'nobody');
    await clients.stop();
    using stopwatch = new Stopwatch();
    await store.stop();
    expect(stopwatch.elapsed).toBeLessThan(2 * STORAGE_TIMEOUT);
    await server.set('synchronous_standby_names', '');
    await until(async () => (await sessions()).length === 0);
  });

  it('should have no more of them either after it stood still for longer than the time limit', async () => {
    const store = await start();
    const clients = new CreatingClients(store.port, CLIENTS, 1_000_000);
    await until(() => clients.created.length > CLIENTS);
    await server.signalAll('SIGSTOP');
    await until(() => clients.refusals.length > 3 * CLIENTS);
    await server.signalAll('SIGCONT');
    const created = clients.created.length;
    await until(() => clients.created.length > created + CLIENTS);
    // The server ends the sessions of connections that were given up meanwhile.
    await until(async () => (await sessions()).length <= POOL_SIZE);
    await clients.stop();
    await store.stop();
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

    const urlOf = (host: string, mode: string): string =>
      `${server.url().replace(/@[^:/]*/, `@${host}`)}?sslmode=${mode}&sslrootcert=${join(server.data, 'server')}`;

    it.each([
      ['verify-full', true, -1],
      ['require', true, -2],
      ['disable', false, -3],
    ])('should be used with sslmode=%s', async (mode, isEncrypted, id) => {
      const store = await start(urlOf('localhost', mode));
      expect((await store.post(`{"id":${id},"name":"Rose"}`)).status).toBe(200);
      expect(new Set((await sessions()).map(({ ssl }) => ssl))).toEqual(new Set([isEncrypted]));
      await store.stop();
      await until(async () => (await sessions()).length === 0);
    });

    it.each([
      ['another host', () => urlOf('127.0.0.1', 'verify-full')],
      ['another authority', () => urlOf('localhost', 'verify-full').replace(/server$/, 'foreign')],
    ])('should be refused with the certificate of %s', async (_, url) => {
      await expect(start(url())).rejects.toThrow(/cannot connect to database .*certificate/);
    });

    it('should end a statement that is late', async () => {
      // The server has no time limit of its own behind a pooler.
      const url = `${urlOf('localhost', 'verify-full')}&pgbouncer=true`;
      const database = new UrlDatabase({ url, timeout: 500 });
      await expect(database.query('SELECT pg_sleep(60)')).rejects.toThrow('did not answer');
      const sleeping = `SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'`;
      await until(async () => (await server.query(sleeping)).length === 0);
      await database.onApplicationShutdown();
    });
  });
});
