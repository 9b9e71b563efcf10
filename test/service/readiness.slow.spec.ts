import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { expectWithin } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const run = promisify(execFile);

/** From a cause, or its end, to the answer that says so. */
const MAX_DELAY_MS = 15_000;
const OTHERS = 'pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

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

const plant = (id: number, name = 'Rose'): string => JSON.stringify({ id, name });

describe('Readiness', () => {
  let database: TestDatabase;
  let store: Store | undefined;
  let warn: jest.SpiedFunction<Logger['warn']>;

  beforeEach(async () => {
    database = await createTestDatabase();
    warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  });
  afterEach(async () => {
    warn.mockRestore();
    await stop();
    await database.drop();
  });

  async function start(url = database.url): Promise<Store> {
    store = await startStoreOn({ ...database, url });
    await expectReadiness(store, 200);
    return store;
  }

  async function stop(): Promise<void> {
    await store?.stop();
    store = undefined;
  }

  it('should see that the table is locked, write nothing, and log each change once', async () => {
    const locked = await start();
    const log = jest.spyOn(Logger.prototype, 'log').mockReturnValue();
    await using lock = await TableLock.take(database);
    await expectReadiness(locked, 503, 'SQLSTATE 55P03');
    await lock.release();
    await expectReadiness(locked, 200);
    const lines = [...warn.mock.calls, ...log.mock.calls].flat().map(String);
    log.mockRestore();
    expect(lines.filter((line) => line.includes('ready'))).toEqual([
      expect.stringMatching(/^The service is not ready: .*SQLSTATE 55P03/),
      'The service is ready again',
    ]);
    expect(await database.query('SELECT FROM plants')).toEqual([]);
    expect((await locked.post(plant(1))).status).toBe(200);
  });

  it('should see that the database is read-only; creates go on as soon as it is not, on new connections', async () => {
    const readOnly = await start();
    const configure = (setting: string): Promise<unknown> =>
      database.query(`BEGIN READ WRITE;
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${setting}', current_database()); END $$; COMMIT`);
    await configure('SET default_transaction_read_only TO on');
    await database.query(`SELECT pg_terminate_backend(pid) FROM ${OTHERS}`);
    await expectReadiness(readOnly, 503, 'read-only');
    expect((await readOnly.post(plant(1))).body).toMatch('50300');
    await configure('RESET default_transaction_read_only');
    // At once: the sessions that may only read are gone with the first refusal.
    await until(async () => (await readOnly.post(plant(2))).status === 200);
    await expectReadiness(readOnly, 200);
  });

  it('should say that the role lacks a right, and what the server refuses, and show no secret', async () => {
    const role = `the "reader" ${randomBytes(4).toString('hex')}`;
    const quoted = pg.escapeIdentifier(role);
    await database.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret';
      GRANT SELECT ON _prisma_migrations TO ${quoted}; GRANT SELECT, INSERT ON plants TO ${quoted}`);
    const url = Object.assign(new URL(database.url), { username: encodeURIComponent(role), password: 'secret' });
    try {
      const restricted = await start(url.href);
      await database.query(`REVOKE INSERT ON plants FROM ${quoted}`);
      await expectReadiness(restricted, 503, 'the role lacks a right on the table plants');
      await database.query(`GRANT INSERT ON plants TO ${quoted}`);
      await expectReadiness(restricted, 200);

      await database.query(`ALTER ROLE ${quoted} PASSWORD 'another'`);
      await database.query(`SELECT pg_terminate_backend(pid) FROM ${OTHERS} AND usename = $1`, [role]);
      await expectReadiness(restricted, 503, 'SQLSTATE 28P01');
      const { reason } = await readiness(restricted);
      const lines = warn.mock.calls.flat().map(String);
      // As PostgreSQL has it: with the name of the role.
      expect(lines.findLast((line) => line.includes(reason))).toMatch(role);
      expect(`${reason} ${lines.join(' ')}`).not.toMatch(/another|'secret/);
      await database.query(`ALTER ROLE ${quoted} PASSWORD 'secret'`);
      await expectReadiness(restricted, 200);
      expect((await restricted.post(plant(1))).status).toBe(200);
    } finally {
      await stop();
      await database.query(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`);
    }
  });

  it('should see, without a client, that a trigger refuses each plant', async () => {
    const failing = await start();
    await database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a secret'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const what = 'a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE P0001)';
    await expectReadiness(failing, 200, `degraded: ${what}`);
    expect((await readiness(failing)).reason).not.toMatch('secret');
    expect((await failing.post(plant(1))).body).toMatch('50000');
    await database.query('DROP FUNCTION refuse CASCADE');
    await until(async () => (await readiness(failing)).reason === '');
    expect((await failing.post(plant(1))).status).toBe(200);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });

  it('should see that the disk is full, until a row finds room again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-disk-'));
    const fault = await mountSmallDisk(folder, database).catch((error: unknown) => String(error));
    if (fault !== undefined) {
      await rm(folder, { recursive: true });
      console.warn(`Skipped: no small disk can be mounted here (${fault})`);
      return;
    }
    const space = `space_${randomBytes(4).toString('hex')}`;
    try {
      await database.query(`CREATE TABLESPACE ${space} LOCATION '${folder}'`);
      await database.query(`ALTER TABLE plants SET TABLESPACE ${space}`);
      const full = await start();
      let id = 0;
      const post = async (): Promise<number> =>
        (await full.post(plant(++id, randomBytes(20_000).toString('hex')))).status;
      await until(async () => (await post()) !== 200);
      // Small ones may still find room.
      for (let time = 1; time <= 2; time++) await expectReadiness(full, 503, 'the disk of the database is full');
      await run('mount', ['-o', 'remount,size=16m', folder]);
      await expectReadiness(full, 200);
      expect(await post()).toBe(200);
      await stop();
      await database.query('ALTER TABLE plants SET TABLESPACE pg_default');
      await database.query(`DROP TABLESPACE ${space}`);
    } finally {
      await run('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    }
  });
});

/** For the server of the tests, which may run as another user. */
async function mountSmallDisk(folder: string, database: TestDatabase): Promise<undefined> {
  const [row] = await database.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const { uid, gid } = await stat(row?.data ?? '');
  await run('mount', ['-t', 'tmpfs', '-o', `size=2m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder]);
  await chown(folder, uid, gid);
  await chmod(folder, 0o700);
}
