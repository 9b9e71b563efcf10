import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PostgresServer } from '../support/database/postgres-server.js';
import { UrlDatabase } from '../../src/database/url-database.js';
import { giveTo } from '../../src/service/embedded-postgres/data-directory.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { until } from '../support/until.js';

describe('A database with TLS', () => {
  let server: PostgresServer;
  let store: Store | undefined;

  beforeAll(async () => {
    server = await PostgresServer.createMigrated();
    await makeCertificate('server');
    await makeCertificate('foreign');
    for (const setting of ['ssl_cert_file', 'ssl_key_file']) await server.set(setting, 'server');
    await server.set('ssl', 'on');
    await until(async () => (await server.query('SHOW ssl'))[0]?.ssl === 'on');
  });
  afterEach(async () => {
    await store?.stop();
    store = undefined;
  });
  afterAll(() => server.remove());

  /** Signed by itself, so that it is its own authority, and with its key in one file. */
  async function makeCertificate(name: string): Promise<void> {
    const file = join(server.data, name);
    const options = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${name} -addext subjectAltName=DNS:localhost`;
    await promisify(execFile)('openssl', ['req', ...options.split(' '), '-keyout', file, '-out', file]);
    await giveTo(server.account, file);
  }

  const urlOf = (host: string, authority: string): string => {
    const parameters = `sslmode=verify-full&sslrootcert=${join(server.data, authority)}`;
    return `${server.url().replace(/@[^:/]*/, `@${host}`)}?${parameters}`;
  };
  const start = (host: string, authority: string): Promise<Store> =>
    startStoreOn({ url: urlOf(host, authority) } as Store['database']);

  it('should be used if its certificate is of the host and the authority of the URL', async () => {
    store = await start('localhost', 'server');
    expect((await store.post('{"id":1,"name":"Rose"}')).status).toBe(200);
    const sessions = await server.query(`SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE application_name = 'plant-store'`);
    expect(sessions).toContainEqual({ ssl: true });
  });

  it('should end on the server a statement that is late', async () => {
    // The server has no time limit of its own behind a pooler.
    const database = new UrlDatabase({ url: `${urlOf('localhost', 'server')}&pgbouncer=true`, timeout: 500 });
    await expect(database.query('SELECT pg_sleep(60)')).rejects.toThrow('did not answer');
    await until(
      async () => (await server.query(`SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'`)).length === 0,
    );
    await database.onApplicationShutdown();
  });

  it.each([
    ['another host', '127.0.0.1', 'server'],
    ['another authority', 'localhost', 'foreign'],
  ])('should be refused with the certificate of %s', async (_, host, authority) => {
    await expect(start(host, authority)).rejects.toThrow(/cannot connect to database .*certificate/);
  });
});
