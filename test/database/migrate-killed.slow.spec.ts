import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, MIGRATION_NAMES, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

/** The lock of a migration, and how long it was waited for. */
const LOCK = `pg_advisory_lock(1347178068, hashtext('public'))`;
const WAITING = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
const KILLS = 12;

describe('plant-store migrate', () => {
  let database: TestDatabase;
  let other: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
    other = new pg.Client(database.url);
    await other.connect();
  });
  afterEach(async () => {
    await other.end();
    await database.drop();
  });

  const start = (): PlantStoreProcess =>
    new PlantStoreProcess(['migrate'], { variables: { DATABASE_URL: database.url } });
  const expectMigrated = async (): Promise<void> => {
    await using run = start();
    expect([await run.ended, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/ (up to date|applied .*)\n$/);
    await database.query('SELECT write_id FROM plants; SELECT digest FROM access_tokens');
    const history = await database.query<{ name: string }>('SELECT migration_name AS name FROM _prisma_migrations');
    expect(history.map(({ name }) => name)).toEqual(MIGRATION_NAMES);
  };

  it('should leave what the next run finishes, whenever it is killed', async () => {
    const began = performance.now();
    await expectMigrated();
    const duration = performance.now() - began;
    for (let kill = 1; kill <= KILLS; kill++) {
      await database.query('DROP TABLE plants, access_tokens, _prisma_migrations');
      await using run = start();
      await new Promise((resolve) => setTimeout(resolve, (duration * kill) / KILLS));
      run.signal('SIGKILL');
      await run.ended;
      await expectMigrated();
    }
  });

  it('should end well in five processes at once', async () => {
    const runs = [1, 2, 3, 4, 5].map(start);
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0, 0, 0, 0]);
    await expectMigrated();
  });

  it.each(['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])(
    "should wait in spite of the role's %s",
    async (setting) => {
      const name = new URL(database.url).pathname.slice(1);
      await database.query(`ALTER DATABASE "${name}" SET ${setting} = '500ms'`);
      await other.query(`SELECT ${LOCK}`);
      await using run = start();
      const isOverdue = `SELECT ${WAITING} AND clock_timestamp() - query_start > interval '700 ms'`;
      await until(async () => (await database.query(isOverdue)).length > 0);
      await other.query('SELECT pg_advisory_unlock_all()');
      expect(await run.ended).toBe(0);
    },
  );
});
