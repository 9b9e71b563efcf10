import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Migrator } from '../../src/index.js';
import { createTestDatabase, MIGRATION_NAMES as names, type TestDatabase } from '../support/database/test-database.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { until } from '../support/until.js';

const [NAME = ''] = names;
const OWN_SCHEMA = `Green "house's`;

describe(Migrator.name, () => {
  let database: TestDatabase;
  let url: string;
  let migrator: Migrator;
  /** A session beside the migrator's. */
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    ({ url } = database);
    migrator = new Migrator({ url });
    client = new pg.Client(url);
    await client.connect();
  });
  beforeEach(() =>
    client.query(`DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(OWN_SCHEMA)} CASCADE;
      CREATE SCHEMA public`),
  );
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const relations = (): Promise<object[]> =>
    database.query(`SELECT c FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace ORDER BY oid`);

  it("should migrate an empty database once, from five places at once, in spite of the role's time limits", async () => {
    expect(await migrator.status()).toBe('behind');
    const name = pg.escapeIdentifier(new URL(url).pathname.slice(1));
    for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])
      await client.query(`ALTER DATABASE ${name} SET ${setting} = '300ms'`);
    // That of another run, for which all of them wait.
    await client.query(`SELECT pg_advisory_lock(1347178068, hashtext('public'))`);
    const runs = Promise.all([1, 2, 3, 4, 5].map(() => new Migrator({ url }).migrate()));
    const late = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
      AND clock_timestamp() - query_start > interval '500 ms'`;
    await until(async () => (await database.query(late)).length === 5);
    await client.query(`SELECT pg_advisory_unlock_all(); ALTER DATABASE ${name} RESET ALL`);
    expect((await runs).flat()).toEqual(names);
    expect(await migrator.status()).toBe('current');
    // The same URL stands for one role.
    const again = await outcomeOfCommandLine('migrate', { DATABASE_URL: url, MIGRATION_DATABASE_URL: url });
    expect(again).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^schema public of .*: up to date\n$/),
      stderr: '',
    });
  });

  it('should keep the history in a table like that of `prisma migrate`', async () => {
    await migrator.migrate();
    const columns = await database.query<{ column: string }>(`SELECT
        concat_ws(' ', column_name, udt_name, character_maximum_length, is_nullable, column_default) AS column
      FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY ordinal_position`);
    expect(columns.map(({ column }) => column)).toEqual([
      'id varchar 36 NO',
      'checksum varchar 64 NO',
      'finished_at timestamptz YES',
      'migration_name varchar 255 NO',
      'logs text YES',
      'rolled_back_at timestamptz YES',
      'started_at timestamptz NO now()',
      'applied_steps_count int4 NO 0',
    ]);
  });

  it.each([
    ['plants of another application', false, 'CREATE TABLE plants (name text)', / a history of migrations: plants\./],
    [
      'a migration of a newer build',
      true,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
        VALUES (1, 2, '29990101000000_a"; $(touch x)\n\`rm\`', now())`,
      /does not know.*: 29990101000000_a[^"$\n`]*touch x[^"$\n`]*\. Use the build/,
    ],
    ['other SQL of its migration', true, `UPDATE _prisma_migrations SET checksum = repeat('0', 64)`, RegExp(NAME)],
    ['a migration that is not finished', true, 'UPDATE _prisma_migrations SET finished_at = NULL', /not finished: \w/],
  ])('should refuse %s, leave it untouched, and migrate a schema beside it', async (_, isMigrated, sql, message) => {
    if (isMigrated) await migrator.migrate();
    await client.query(sql);
    const before = await relations();
    expect(await migrator.status()).toBe('unknown');
    const refusal = { code: 'unknown', message: expect.stringMatching(message) };
    await expect(migrator.migrate()).rejects.toMatchObject(refusal);
    await expect(migrator.migrate()).rejects.toThrow('Give the store a schema of its own');
    const beside = new Migrator({ url, schema: OWN_SCHEMA });
    expect([await beside.migrate(), await beside.status()]).toEqual([names, 'current']);
    expect(await relations()).toEqual(before);
  });

  it('should say within seconds that another session is in the way', async () => {
    await migrator.migrate();
    await client.query('BEGIN; LOCK TABLE _prisma_migrations');
    const { code, stderr } = await outcomeOfCommandLine('migrate', { DATABASE_URL: url });
    await client.query('ROLLBACK');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/ is locked: another session .* Run it again$/m)]);
  });

  it('should leave nothing of a migration that fails, and say why', async () => {
    await client.query('CREATE SEQUENCE access_tokens_name_idx');
    const before = await relations();
    await expect(migrator.migrate()).rejects.toThrow('relation "access_tokens_name_idx" already exists');
    expect([await migrator.status(), await relations()]).toEqual(['behind', before]);
    const { code, stderr } = await outcomeOfCommandLine('token list', { DATABASE_URL: url });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`it lacks ${NAME}. Run \`plant-store migrate\``)]);
    // Nobody listens there.
    expect(await new Migrator({ url: 'postgresql://gardener@127.0.0.1:1/plants' }).status()).toBe('unreachable');
  });
});
