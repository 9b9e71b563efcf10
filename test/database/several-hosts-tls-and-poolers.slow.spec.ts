import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeWithPgBouncer, PgBouncer } from '../support/database/pgbouncer.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { until } from '../support/until.js';

/** Less than a statement would wait for a host that does not answer. */
const SOON_MS = 10_000;
const STORAGE_TIMEOUT = '30000';

let server: PostgresServer;
let store: Store | undefined;

beforeAll(async () => {
  server = await PostgresServer.createMigrated();
});
afterAll(() => server.remove());
afterEach(async () => {
  await store?.stop();
  store = undefined;
  await server.query('TRUNCATE plants');
});

async function start(hosts: string[], parameters: string): Promise<void> {
  const url = `${server.url().replace(/@[^/]*/, `@${hosts.join()}`)}?target_session_attrs=read-write&${parameters}`;
  store = await startStoreOn({ url } as Store['database'], { ERROR_STATUS: 'semantic', STORAGE_TIMEOUT });
}
const create = async (id: number): Promise<number | undefined> =>
  (await store?.post(`{"id":${id},"name":"Rose"}`))?.status;
const portOf = ({ url }: TcpProxy): string => new URL(url).port;

describe('A database of several hosts with TLS', () => {
  let first: TcpProxy;
  let second: TcpProxy;
  let trusted: string;

  beforeAll(async () => {
    trusted = join(server.data, 'trusted.pem');
    await makeCertificate('first', 'DNS:localhost');
    await makeCertificate('second', 'IP:127.0.0.1');
    await makeCertificate('elsewhere', 'DNS:elsewhere.example');
    await makeCertificate('foreign', 'DNS:localhost,IP:127.0.0.1');
    const known = ['first', 'second', 'elsewhere'].map((name) => readFile(join(server.data, name)));
    await writeFile(trusted, Buffer.concat(await Promise.all(known)));
  });
  beforeEach(async () => {
    first = await TcpProxy.start(server.url());
    second = await TcpProxy.start(server.url());
  });
  afterEach(() => Promise.all([first.close(), second.close()]));

  /** Signed by itself, so that it is its own authority, and with its key in one file. */
  async function makeCertificate(name: string, names: string): Promise<void> {
    const file = join(server.data, name);
    const options = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${name} -addext subjectAltName=${names}`;
    await promisify(execFile)('openssl', ['req', ...options.split(' '), '-keyout', file, '-out', file]);
    await server.user.own(file);
  }
  /** From now on new connections get this certificate. */
  async function present(name: string): Promise<void> {
    for (const setting of ['ssl_cert_file', 'ssl_key_file']) await server.set(setting, name);
    await server.set('ssl', 'on');
    const current = `SELECT WHERE current_setting('ssl_key_file') = '${name}' AND current_setting('ssl')::boolean`;
    await until(async () => (await server.query(current)).length === 1);
  }
  const hosts = (): [string, string] => [`localhost:${portOf(first)}`, `127.0.0.1:${portOf(second)}`];
  const parameters = (): string => `sslmode=verify-full&sslrootcert=${trusted}`;

  it('should verify each host by its own name, and refuse no other with it', async () => {
    await present('second');
    await start(hosts(), parameters());
    expect(await create(1)).toBe(200);
    await until(() => first.connections === 0);
    expect(second.connections).toBeGreaterThan(0);

    await present('first');
    second.freeze();
    const silent = performance.now();
    expect(await create(2)).toBe(200);
    expect(performance.now() - silent).toBeLessThan(SOON_MS);
    second.restore();
    await until(() => second.connections === 0);
    expect(first.connections).toBeGreaterThan(0);
    expect(
      await server.query(`SELECT FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE application_name LIKE 'plant-store%' AND NOT ssl`),
    ).toEqual([]);
  });

  it.each([
    ['names none of them', 'elsewhere', 'does not match'],
    ['is of an unknown authority', 'foreign', 'self-signed'],
  ])('should use none if the certificate %s', async (_, name, reason) => {
    await present(name);
    const failure = await start(hosts(), parameters()).catch((error: unknown) => error);
    const [one, other] = hosts();
    expect(String(failure)).toMatch(new RegExp(`: ${one}: .*${reason}.*; ${other}: .*${reason}`));
  });
});

describeWithPgBouncer('A database of several hosts that are PgBouncers', () => {
  it('should be used at a pooler of the primary, also after another one is promoted', async () => {
    const settings = { pool_mode: 'transaction' };
    const standby = await server.startStandby();
    try {
      await using ofStandby = await PgBouncer.start(standby.url(), settings);
      await using next = await PgBouncer.start(server.url(), settings);
      const first = await PgBouncer.start(server.url(), settings);
      const hosts = [ofStandby, first, next].map((pooler) => new URL(pooler.urlOf(server.url())).host);
      await start(hosts, 'pgbouncer=true');
      let id = 0;
      const creates = async (): Promise<boolean> => (await create(++id)) === 200;
      expect(await creates()).toBe(true);
      await first[Symbol.asyncDispose]();
      await until(creates);

      await server.kill();
      await standby.query('SELECT pg_promote()');
      const promoted = performance.now();
      await until(creates);
      expect(performance.now() - promoted).toBeLessThan(SOON_MS);
      await store?.stop();
      store = undefined;
    } finally {
      await standby.remove();
      await server.start();
    }
  });
});
