import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { MIGRATIONS } from '../../src/database/migrations.js';
import { Migrator } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { outcomeOfCommandLine } from '../support/service/process.js';
import { until } from '../support/until.js';

/** The migrations of this build, oldest first. */
const names = MIGRATIONS.map(({ name }) => name);
const [NAME = ''] = names;
const OWN_SCHEMA = `Green "house's`;
const EMPTY = `
  DROP SCHEMA public CASCADE;
  DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(OWN_SCHEMA)} CASCADE;
  CREATE SCHEMA public`;
/** What a role may have set for its sessions. */
const ODD_SETTINGS = [
  'default_transaction_isolation=serializable',
  'search_path=nowhere',
  'standard_conforming_strings=off',
  ...['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'].map((limit) => `${limit}=300ms`),
];

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
  beforeEach(() => client.query(EMPTY));
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const relations = (): Promise<object[]> =>
    database.query(`SELECT c FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace ORDER BY oid`);

  it('should know what is in prisma/migrations: if not, run "npm run prisma:list"', async () => {
    const folder = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
    const entries = await readdir(folder, { withFileTypes: true });
    const found = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    const migrations = found.sort().map(async (name) => {
      // With the line ends of the repository: .gitattributes keeps them in every checkout.
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
    });
    expect(MIGRATIONS).toEqual(await Promise.all(migrations));
  });

  it('should make the tables once, from five places at once, whatever the role has set for its sessions', async () => {
    const odd = new URL(url);
    odd.searchParams.set('options', ODD_SETTINGS.map((setting) => `-c ${setting}`).join(' '));
    const migrators = Array.from({ length: 5 }, () => new Migrator({ url: odd.href }));
    expect(await migrator.status()).toBe('behind');
    // That of another run, for which all of them wait.
    await client.query('SELECT pg_advisory_lock(72707369)');
    const runs = Promise.all(migrators.map((each) => each.migrate()));
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
      AND clock_timestamp() - query_start > interval '500 ms'`;
    await until(async () => (await database.query(waiting)).length === 5);
    await client.query('SELECT pg_advisory_unlock_all()');
    expect((await runs).flat()).toEqual(names);
    expect(await migrator.status()).toBe('current');
    // The same URL stands for one role.
    const again = await outcomeOfCommandLine('migrate', { DATABASE_URL: url, MIGRATION_DATABASE_URL: url });
    const stdout = expect.stringMatching(/^schema public of .*: up to date\n$/);
    expect(again).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('should tell a host what to run in a shell, if its tables are missing', async () => {
    const command = `plant-store migrate --schema 'Green "house'\\''s'`;
    await expect(Host.on({ url, schema: OWN_SCHEMA })).rejects.toThrow(command);
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
        VALUES (1, 2, E'29990101000000_a\nb', now())`,
      /does not know.*: 29990101000000_a\\u000ab\. Use the build/,
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
    await expect(migrator.migrate()).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringMatching(/Run it again$/),
    });
    await client.query('ROLLBACK');
  });

  it('should leave nothing of a migration that fails, and say why', async () => {
    await client.query('CREATE SEQUENCE access_tokens_name_idx');
    const before = await relations();
    await expect(migrator.migrate()).rejects.toThrow('relation "access_tokens_name_idx" already exists');
    expect([await migrator.status(), await relations()]).toEqual(['behind', before]);
    const stderr = expect.stringMatching(`it lacks ${NAME}[^.]*\\. Run .plant-store migrate --schema 'public'`);
    expect(await outcomeOfCommandLine('token list', { DATABASE_URL: url })).toMatchObject({ code: 1, stderr });
    // Nobody listens there.
    expect(await new Migrator({ url: 'postgresql://gardener@127.0.0.1:1/plants' }).status()).toBe('unreachable');
  });
});
