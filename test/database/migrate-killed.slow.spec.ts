import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type BareDatabase, MIGRATION_NAMES, openBareDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const KILLS = 12;

describe('plant-store migrate', () => {
  let database: BareDatabase;

  beforeEach(async () => {
    database = await openBareDatabase();
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  const start = (): PlantStoreProcess =>
    new PlantStoreProcess(['migrate'], { variables: { DATABASE_URL: database.url } });
  const expectMigrated = async (): Promise<void> => {
    await using run = start();
    expect([await run.ended, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/ (up to date|applied .*)\n$/);
    await database.client.query('SELECT write_id FROM plants; SELECT digest FROM access_tokens');
    const { rows } = await database.client.query<{ name: string }>(
      'SELECT migration_name AS name FROM _prisma_migrations',
    );
    expect(rows.map(({ name }) => name)).toEqual(MIGRATION_NAMES);
  };

  it('should leave what the next run finishes, whenever it is killed', async () => {
    const began = performance.now();
    await expectMigrated();
    const duration = performance.now() - began;
    for (let kill = 1; kill <= KILLS; kill++) {
      await database.client.query('DROP TABLE plants, access_tokens, _prisma_migrations');
      await using run = start();
      await new Promise((resolve) => setTimeout(resolve, (duration * kill) / KILLS));
      run.signal('SIGKILL');
      await run.ended;
      await expectMigrated();
    }
  });

  it.each(['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])(
    "should wait for another one in spite of the role's %s",
    async (setting) => {
      const { client, url } = database;
      await client.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET ${setting} = '500ms'`);
      await client.query(`SELECT pg_advisory_lock(1347178068, hashtext('public'))`);
      await using run = start();
      const isOverdue = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
        AND clock_timestamp() - query_start > interval '700 ms'`;
      await until(async () => (await client.query(isOverdue)).rowCount === 1);
      await client.query('SELECT pg_advisory_unlock_all()');
      expect(await run.ended).toBe(0);
    },
  );
});
