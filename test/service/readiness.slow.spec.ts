import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { expectWithin, until } from '../support/until.js';

/** From a cause, or its end, to the answer that says so. */
const MAX_DELAY_MS = 15_000;
const run = promisify(execFile);
const OTHERS = 'pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

describe('Readiness', () => {
  const role = `the "reader" ${randomBytes(4).toString('hex')}`;
  const quoted = pg.escapeIdentifier(role);
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret'; GRANT SELECT ON _prisma_migrations TO ${quoted};
      GRANT SELECT, INSERT, DELETE ON plants TO ${quoted}`);
    const url = Object.assign(new URL(database.url), { username: encodeURIComponent(role), password: 'secret' }).href;
    store = await startStoreOn({ ...database, url });
  });
  afterAll(async () => {
    await store.stop();
    await database.query(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`);
    await database.drop();
  });

  const ready = async (): Promise<{ status: number; reason: string }> => {
    const response = await fetch(`http://127.0.0.1:${store.managementPort}/readyz`);
    const { reason = '' } = (await response.json()) as { reason?: string };
    return { status: response.status, reason };
  };
  /** Asks often, as several balancers do. */
  const expectReadiness = (status: number, reason = ''): Promise<void> =>
    expectWithin(MAX_DELAY_MS, async () => {
      const answer = await ready();
      return answer.status === status && (reason === '' ? answer.reason === '' : answer.reason.includes(reason));
    });
  const create = async (id: number): Promise<string> => (await store.post(`{"id":${id},"name":"Rose"}`)).body;

  it('should see that the database is read-only; creates go on as soon as it is not, on new connections', async () => {
    const configure = (setting: string): Promise<unknown> =>
      database.query(`BEGIN READ WRITE;
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${setting}', current_database()); END $$; COMMIT`);
    await configure('SET default_transaction_read_only TO on');
    await database.query(`SELECT pg_terminate_backend(pid) FROM ${OTHERS}`);
    await expectReadiness(503, 'read-only');
    expect(await create(1)).toMatch('50300');
    await configure('RESET default_transaction_read_only');
    // At once: the sessions that may only read are gone with the first refusal.
    await expectWithin(1000, async () => (await create(2)) === '{"name":"Rose"}');
    await expectReadiness(200);
  });

  it('should say that the role lacks a right', async () => {
    await database.query(`REVOKE INSERT ON plants FROM ${quoted}`);
    await expectReadiness(503, 'the role lacks a right that a create needs');
    await database.query(`GRANT INSERT ON plants TO ${quoted}`);
    await expectReadiness(200);
  });

  it('should see, without a client, that a trigger refuses each plant', async () => {
    await database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a secret'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const what = 'a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE P0001)';
    await expectReadiness(200, `degraded: ${what}`);
    expect((await ready()).reason).not.toMatch('secret');
    expect(await create(3)).toMatch('50000');
    await database.query('DROP FUNCTION refuse CASCADE');
    await expectReadiness(200);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '2' }]);
  });

  // Only root can mount one.
  (process.getuid?.() === 0 ? it : it.skip)(
    'should see that the disk is full, until a row finds room again',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'plant-store-disk-'));
      const fault = await mountSmallDisk(folder, database).catch((error: unknown) => String(error));
      if (fault !== undefined) {
        await rm(folder, { recursive: true });
        throw new Error(`No small disk can be mounted here: ${fault}`);
      }
      const space = `space_${randomBytes(4).toString('hex')}`;
      try {
        await database.query(`CREATE TABLESPACE ${space} LOCATION '${folder}'`);
        await database.query(`ALTER TABLE plants SET TABLESPACE ${space}`);
        let id = 100;
        const post = async (): Promise<number> => {
          const name = randomBytes(20_000).toString('hex');
          return (await store.post(`{"id":${++id},"name":"${name}"}`)).status;
        };
        await until(async () => (await post()) !== 200);
        // Small ones may still find room.
        for (let time = 1; time <= 2; time++) await expectReadiness(503, 'the disk of the database is full');
        await run('mount', ['-o', 'remount,size=16m', folder]);
        await expectReadiness(200);
        expect(await post()).toBe(200);
        await database.query('ALTER TABLE plants SET TABLESPACE pg_default');
        await database.query(`DROP TABLESPACE ${space}`);
      } finally {
        await run('umount', ['--lazy', folder]);
        await rm(folder, { recursive: true });
      }
    },
  );
});

/** For the server of the tests, which may run as another user. */
async function mountSmallDisk(folder: string, database: TestDatabase): Promise<undefined> {
  const [row] = await database.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const { uid, gid } = await stat(row?.data ?? '');
  await run('mount', ['-t', 'tmpfs', '-o', `size=2m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder]);
  await chown(folder, uid, gid);
  await chmod(folder, 0o700);
}
