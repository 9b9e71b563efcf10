import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { PostgresServer } from '../support/database/postgres-server.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { expectWithin } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const run = promisify(execFile);

/** From a cause, or its end, to the answer that says so. */
const MAX_DELAY_MS = 15_000;

async function readiness({ managementPort }: Store): Promise<{ status: number; reason: string }> {
  const response = await fetch(`http://127.0.0.1:${managementPort}/readyz`);
  const { reason = '' } = (await response.json()) as { reason?: string };
  return { status: response.status, reason };
}

/** Asks often, as several balancers do. */
const expectReadiness = (store: Store, status: number, reason = ''): Promise<void> =>
  expectWithin(MAX_DELAY_MS, async () => {
    const answer = await readiness(store);
    return answer.status === status && answer.reason.includes(reason);
  });

const plant = (id: number): string => JSON.stringify({ id, name: 'Rose' });

describe('Readiness', () => {
  let database: TestDatabase;
  let store: Store | undefined;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await store?.stop();
    store = undefined;
    await database.drop();
  });

  async function start(url = database.url, variables: Record<string, string> = {}): Promise<Store> {
    store = await startStoreOn({ ...database, url }, variables);
    await expectReadiness(store, 200);
    return store;
  }

  const configure = (setting: string): Promise<unknown> =>
    database.query(`BEGIN READ WRITE;
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${setting}', current_database()); END $$; COMMIT`);

  it('should see that the table is locked, and write nothing', async () => {
    const locked = await start();
    await using lock = await TableLock.take(database);
    await expectReadiness(locked, 503, 'SQLSTATE 55P03');
    await lock.release();
    await expectReadiness(locked, 200);
    expect(await database.query('SELECT FROM plants')).toEqual([]);
    expect((await locked.post(plant(1))).status).toBe(200);
  });

  it('should see that the database is read-only; creates go on as soon as it is not, on new connections', async () => {
    const readOnly = await start();
    await configure('SET default_transaction_read_only TO on');
    await database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await expectReadiness(readOnly, 503, 'read-only');
    await Promise.all([1, 2, 3].map((id) => readOnly.post(plant(id))));
    expect((await readOnly.post(plant(1))).body).toMatch('50300');
    await configure('RESET default_transaction_read_only');
    // At once: the sessions that may only read are gone with the first refusal.
    await until(async () => (await readOnly.post(plant(2))).status === 200);
    await expectReadiness(readOnly, 200);
  });

  it('should name the right that the role lacks, and the GRANT for it', async () => {
    const role = `the "reader" ${randomBytes(4).toString('hex')}`;
    const quoted = pg.escapeIdentifier(role);
    await database.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret';
      GRANT SELECT ON _prisma_migrations TO ${quoted}; GRANT SELECT, INSERT ON plants TO ${quoted}`);
    const url = new URL(database.url);
    url.username = encodeURIComponent(role);
    url.password = 'secret';
    try {
      const restricted = await start(url.href);
      await database.query(`REVOKE INSERT ON plants FROM ${quoted}`);
      const statement = `GRANT INSERT ON public.plants TO ${quoted}`;
      await expectReadiness(restricted, 503, statement);
      await database.query(statement);
      await expectReadiness(restricted, 200);
      expect((await restricted.post(plant(1))).status).toBe(200);
    } finally {
      await store?.stop();
      store = undefined;
      await database.query(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`);
    }
  });

  it.each<[cause: string, status: number, reason: string, change: string, end: string]>([
    [
      'a trigger raises an error',
      200,
      'degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE P0001)',
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a secret'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
      'DROP FUNCTION refuse CASCADE',
    ],
    [
      'a trigger leaves out each plant',
      200,
      'degraded: a constraint, trigger or policy',
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
      'DROP FUNCTION refuse CASCADE',
    ],
    [
      'a constraint refuses each plant',
      200,
      '(SQLSTATE 23514)',
      'ALTER TABLE plants ADD CONSTRAINT short CHECK (length(name) < 3) NOT VALID',
      'ALTER TABLE plants DROP CONSTRAINT short',
    ],
    [
      'a column has a type that takes no text',
      503,
      'SQLSTATE 42804',
      'ALTER TABLE plants ALTER COLUMN tag TYPE date USING NULL',
      'ALTER TABLE plants ALTER COLUMN tag TYPE text',
    ],
    [
      'no constraint keeps ids unique',
      503,
      'SQLSTATE 42P10',
      'ALTER TABLE plants DROP CONSTRAINT plants_pkey',
      'ALTER TABLE plants ADD PRIMARY KEY (id)',
    ],
  ])('should see, without a client, that each create fails because %s', async (_, status, reason, change, end) => {
    const failing = await start();
    await database.query(change);
    await expectReadiness(failing, status, reason);
    expect((await readiness(failing)).reason).not.toMatch('secret');
    expect((await failing.post(plant(1))).body).toMatch('50000');
    await database.query(end);
    await until(async () => (await readiness(failing)).reason === '');
    expect((await failing.post(plant(1))).status).toBe(200);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });

  it('should say what the server refuses, in the log too, and show no secret', async () => {
    const role = `gardener_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret';
      GRANT SELECT ON _prisma_migrations TO ${role}; GRANT SELECT, INSERT ON plants TO ${role}`);
    const url = Object.assign(new URL(database.url), { username: role, password: 'secret' });
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    try {
      const refused = await start(url.href);
      await database.query('ALTER TABLE plants ENABLE ROW LEVEL SECURITY');
      await expectReadiness(refused, 200, 'refuses an ordinary plant (SQLSTATE 42501)');
      await database.query(`ALTER TABLE plants DISABLE ROW LEVEL SECURITY; ALTER ROLE ${role} PASSWORD 'another'`);
      await database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
      await expectReadiness(refused, 503, 'SQLSTATE 28P01');
      const { reason } = await readiness(refused);
      expect(reason).not.toMatch(/another|secret/);
      const line = warn.mock.calls
        .flat()
        .map(String)
        .findLast((text) => text.includes(reason));
      // As PostgreSQL has it: with the name of the role.
      expect(line).toMatch(role);
      expect(line).not.toMatch(/another|'secret/);
      await database.query(`ALTER ROLE ${role} PASSWORD 'secret'`);
      await expectReadiness(refused, 200);
    } finally {
      warn.mockRestore();
      await store?.stop();
      store = undefined;
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('should stay as it is while every connection is in use', async () => {
    const busy = await start(undefined, { DATABASE_POOL_SIZE: '1' });
    const other = new pg.Client(database.url);
    await other.connect();
    await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (1, 'Rose')`);
    const answer = busy.post(plant(1));
    await until(() => busy.statistics.inFlight === 1);
    for (const time of [1, 2]) expect([time, (await readiness(busy)).status]).toEqual([time, 200]);
    await other.end();
    expect((await answer).status).toBe(200);
  });

  it('should see that the database cannot be reached', async () => {
    const proxy = await TcpProxy.start(database.url);
    const away = await start(proxy.url);
    proxy.reset();
    await expectReadiness(away, 503, 'cannot be reached');
    proxy.restore();
    await expectReadiness(away, 200);
    await away.stop();
    store = undefined;
    await proxy.close();
  });

  it('should see that the disk is full, until a row finds room again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-disk-'));
    const mounted = await mountSmallDisk(folder, database).catch((error: unknown) => String(error));
    if (typeof mounted === 'string') {
      await rm(folder, { recursive: true });
      console.warn(`Skipped: no small disk can be mounted here (${mounted})`);
      return;
    }
    const space = `space_${randomBytes(4).toString('hex')}`;
    try {
      await database.query(`CREATE TABLESPACE ${space} LOCATION '${folder}'`);
      await database.query(`ALTER TABLE plants SET TABLESPACE ${space}`);
      const full = await start();
      const text = (): string => randomBytes(20_000).toString('hex');
      let id = 0;
      await until(async () => {
        const { status } = await full.post(JSON.stringify({ id: ++id, name: text() }));
        return status !== 200;
      });
      // Small ones may still find room.
      await expectReadiness(full, 503, 'the disk of the database is full');
      await expectReadiness(full, 503, 'the disk of the database is full');
      await run('mount', ['-o', 'remount,size=16m', folder]);
      await expectReadiness(full, 200);
      expect((await full.post(JSON.stringify({ id: ++id, name: text() }))).status).toBe(200);
      await full.stop();
      store = undefined;
      await database.query('ALTER TABLE plants SET TABLESPACE pg_default');
      await database.query(`DROP TABLESPACE ${space}`);
    } finally {
      await run('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    }
  });
});

/** For the server of the tests, which may run as another user. */
async function mountSmallDisk(folder: string, database: TestDatabase): Promise<void> {
  const [row] = await database.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const { uid, gid } = await stat(row?.data ?? '');
  await run('mount', ['-t', 'tmpfs', '-o', `size=2m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder]);
  await chown(folder, uid, gid);
  await chmod(folder, 0o700);
}

describe('A store whose address leads to a standby for a while', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;

  beforeAll(async () => {
    primary = await PostgresServer.createMigrated();
    standby = await primary.startStandby();
  });
  afterAll(async () => {
    await standby.remove();
    await primary.remove();
  });

  it('should create plants again without a restart, though its connections are kept', async () => {
    const proxy = await TcpProxy.start(primary.url());
    const database = { url: proxy.url, query: (sql: string) => primary.query(sql) } as unknown as TestDatabase;
    const store = await startStoreOn(database);
    try {
      await using clients = CreatingClients.start(store.port, 8);
      await until(() => clients.created.length > 20);
      await expectReadiness(store, 200);

      proxy.leadTo(standby.url());
      await primary.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'`,
      );
      await expectReadiness(store, 503, 'standby');
      const refused = clients.refusals.length;
      await until(() => clients.refusals.length > refused + 20);

      proxy.leadTo(primary.url());
      const created = clients.created.length;
      await until(() => clients.created.length > created + 20);
      await expectReadiness(store, 200);
      await clients.stop();
      expect((await primary.query('SELECT FROM plants')).length).toBeGreaterThanOrEqual(clients.created.length);
    } finally {
      await store.stop();
      await proxy.close();
    }
  });
});
