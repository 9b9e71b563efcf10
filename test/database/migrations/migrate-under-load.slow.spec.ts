import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MIGRATION_NAMES } from '../../support/database/migration-names.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { PlantStoreProcess } from '../../support/service/process.js';
import { until } from '../../support/until.js';

/** The last migration that changes the table of plants, and those after it. */
const PENDING = MIGRATION_NAMES.slice(MIGRATION_NAMES.indexOf('20261123000000_add_write_id'));
const WAITING = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
const OTHERS = `FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'reader'`;

describe('plant-store migrate, while a reader keeps the table', () => {
  let database: TestDatabase;
  let reader: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase();
    await database.query('ALTER TABLE plants DROP COLUMN write_id');
    await database.query('ALTER TABLE access_tokens DROP COLUMN requests_per_minute');
    await database.query('DELETE FROM _prisma_migrations WHERE migration_name = ANY($1)', [PENDING]);
    reader = new pg.Client({ connectionString: database.url, application_name: 'reader' });
    await reader.connect();
    await reader.query('BEGIN; SELECT count(*) FROM plants');
  });
  afterEach(async () => {
    await reader.end();
    await database.drop();
  });

  const start = (...args: string[]): PlantStoreProcess =>
    new PlantStoreProcess(['migrate', ...args], { variables: { DATABASE_URL: database.url } });
  const isWaiting = async (): Promise<boolean> => (await database.query(`SELECT ${WAITING}`)).length > 0;
  const expectMigrated = async (): Promise<void> => {
    await using run = start();
    expect([await run.ended, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain(`applied ${PENDING.join(', ')}`);
    await database.query('SELECT write_id FROM plants');
  };

  it('should let creates go on between its attempts, and finish when the reader has', async () => {
    await using run = start();
    await run.printed(/waits for a lock of process \d+ \(role \w+, application reader, for \d+ s\); creates go on/);
    await until(isWaiting);
    let longest = 0;
    // Through the second attempt and the pause behind it.
    for (let id = 1, end = performance.now() + 5000; performance.now() < end; id++) {
      const sent = performance.now();
      await database.query(`INSERT INTO plants (id, name) VALUES (${id}, 'Rose')`);
      longest = Math.max(longest, performance.now() - sent);
    }
    expect(longest).toBeGreaterThan(500);
    expect(longest).toBeLessThan(4000);
    await reader.query('COMMIT');
    expect([await run.ended, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain(`applied ${PENDING.join(', ')}`);
  });

  it('should give up when its time is up, and name the reader', async () => {
    await using run = start('--lock-wait', '1');
    expect(await run.ended).toBe(1);
    expect(run.stderr).toMatch(/waits for a lock of process \d+ \(role \w+, application reader, for \d+ s\)/);
    expect(run.stderr).toMatch(/given up\. End that, or wait longer: `plant-store migrate --lock-wait SECONDS`\n$/);
    await reader.query('COMMIT');
    await expectMigrated();
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('should end its statement on the server at %s, and exit with %d', async (signal, code) => {
    await using run = start();
    await until(isWaiting);
    run.signal(signal);
    expect(await run.ended).toBe(code);
    expect(
      await database.query(`SELECT query ${OTHERS} AND state <> 'idle' AND query NOT LIKE '%pg_stat_activity%'`),
    ).toEqual([]);
    await reader.query('COMMIT');
    await expectMigrated();
  });

  it('should keep no table while its process is frozen', async () => {
    await using run = start();
    await until(isWaiting);
    run.signal('SIGSTOP');
    // It has the table now, and is asked for nothing more.
    await reader.query('COMMIT');
    // It may take longer than one wait.
    const isOver = async (): Promise<boolean> => (await database.query(`SELECT ${OTHERS}`)).length === 0;
    await until(isOver).catch(() => until(isOver));
    await database.query(`INSERT INTO plants (id, name) VALUES (1, 'Rose')`);
    run.signal('SIGKILL');
    await run.ended;
    await expectMigrated();
  });

  it.each(['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])(
    "should wait in spite of the role's %s",
    async (setting) => {
      const name = new URL(database.url).pathname.slice(1);
      await database.query(`ALTER DATABASE "${name}" SET ${setting} = '500ms'`);
      await using run = start();
      await run.printed(/creates go on, and it tries again/);
      await reader.query('COMMIT');
      expect(await run.ended).toBe(0);
    },
  );

  it('should be finished by the next one if it was killed', async () => {
    await using run = start();
    await until(isWaiting);
    run.signal('SIGKILL');
    expect(await run.ended).toBe('SIGKILL');
    await reader.query('COMMIT');
    await expectMigrated();
  });
});
