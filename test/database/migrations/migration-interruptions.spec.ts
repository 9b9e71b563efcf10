import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/database/database-url.js';
import { MigrationError, Migrator } from '../../../src/index.js';
import { type BareDatabase, openBareDatabase } from '../../support/database/bare-database.js';
import { MIGRATION_NAMES } from '../../support/database/migration-names.js';
import { MigratorWith } from '../../support/database/migrator-with.js';
import { diagnoseByPrisma, readMigrations } from '../../support/database/schema-engine.js';
import { rejectionOf } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const NEWER = '29990101000000_newer';
const ADD_HEIGHT = { [NEWER]: 'ALTER TABLE plants ADD COLUMN height integer' };

describe('a migration that was interrupted', () => {
  let database: BareDatabase;
  let url: string;
  let client: pg.Client;
  let migrator: Migrator;

  beforeEach(async () => {
    database = await openBareDatabase();
    ({ url, client } = database);
    migrator = new Migrator({ url });
    await migrator.migrate();
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  const connected = async (): Promise<pg.Client> => {
    const other = new pg.Client({ connectionString: url, application_name: 'psql $(id)' });
    await other.connect();
    return other;
  };

  it.each([
    ['are there', ''],
    ['are not there', 'DROP TABLE plants, access_tokens'],
  ])(
    'should be reported at the start, and be finished by migrate, if Prisma has begun it and its tables %s',
    async (_, sql) => {
      // As Prisma's engine does.
      await client.query(`UPDATE _prisma_migrations SET finished_at = NULL; ${sql}`);
      const { code, message } = (await rejectionOf(migrator.assertCurrent())) as MigrationError;
      expect([code, message]).toEqual(['failed', expect.stringContaining('Run `plant-store migrate`')]);
      expect(message).not.toContain('prisma');
      expect(await migrator.migrate()).toEqual(MIGRATION_NAMES);
      await migrator.assertCurrent();
      expect(await migrator.migrate()).toEqual([]);
      expect(await diagnoseByPrisma(parseDatabaseUrl(url), await readMigrations())).toBeNull();
    },
  );

  it('should keep creates no longer than two seconds if others use the table, and name them', async () => {
    const reader = await connected();
    await reader.query('BEGIN; SELECT FROM plants');
    const { rows } = await reader.query<{ pid: number; role: string }>(
      'SELECT pg_backend_pid() AS pid, current_user AS role',
    );
    const start = performance.now();
    const migration = rejectionOf(new MigratorWith({ url, lockWait: 0 }, ADD_HEIGHT).migrate());
    await until(async () => (await client.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount === 1);
    await client.query(`INSERT INTO plants (id, name) VALUES (1, 'Rose')`);
    expect(performance.now() - start).toBeLessThan(4000);
    const { code, message } = (await migration) as MigrationError;
    expect(code).toBe('locked');
    expect(message).toMatch(
      `waits for a lock of process ${rows[0]?.pid} (role ${rows[0]?.role}, application psql \\u{24}`,
    );
    expect(message).toMatch(
      /, for \d+ s\): given up\. End that, or wait longer: `plant-store migrate --lock-wait SECONDS`$/,
    );
    await reader.end();
    expect(await new MigratorWith({ url }, ADD_HEIGHT).migrate()).toEqual([NEWER]);
  });

  it('should let creates go on between its attempts, and finish when the reader has', async () => {
    const reader = await connected();
    await reader.query('BEGIN; SELECT FROM plants');
    const migration = new MigratorWith({ url }, ADD_HEIGHT).migrate();
    const waiting = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    for (let id = 1; id <= 2; id++) {
      await until(async () => (await client.query(`SELECT ${waiting}`)).rowCount === 1);
      await client.query(`INSERT INTO plants (id, name) VALUES (${id}, 'Rose')`);
    }
    await reader.query('COMMIT');
    await reader.end();
    expect(await migration).toEqual([NEWER]);
  });

  it('should be run by the next one if the server ended its session', async () => {
    const reader = await connected();
    await reader.query('BEGIN; SELECT FROM plants');
    const migration = rejectionOf(new MigratorWith({ url }, ADD_HEIGHT).migrate());
    const waiting = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => (await client.query(`SELECT pg_terminate_backend(pid) ${waiting}`)).rowCount === 1);
    expect(await migration).toMatchObject({ code: 'failed' });
    await reader.end();
    expect(await new MigratorWith({ url }, ADD_HEIGHT).migrate()).toEqual([NEWER]);
  });
});

describe('a superuser that migrates a database in which another role may make schemas', () => {
  it("should call nothing of that role's", async () => {
    await using database = await openBareDatabase();
    const { client } = database;
    const name = `mallory_${randomBytes(4).toString('hex')}`;
    const { rows } = await client.query<{ role: string; name: string }>(
      'SELECT current_user AS role, current_database() AS name',
    );
    const { role = '', name: own = '' } = rows[0] ?? {};
    await client.query(
      `CREATE ROLE ${name}; GRANT CREATE ON DATABASE ${pg.escapeIdentifier(own)} TO ${name}; SET ROLE ${name}`,
    );
    await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(role)}`);
    const body = `RETURNS %s LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'mallory was called'; END $$`;
    for (const [signature, type] of [
      ['pg_advisory_lock(integer)', 'void'],
      ['pg_advisory_lock(integer, text)', 'void'],
      ['pg_advisory_xact_lock(integer)', 'void'],
      ['pg_advisory_unlock(integer)', 'boolean'],
      ['hashtext(varchar)', 'integer'],
      ['to_regclass(varchar)', 'regclass'],
      ['set_config(text, varchar, boolean)', 'text'],
    ])
      await client.query(`CREATE FUNCTION ${pg.escapeIdentifier(role)}.${signature} ${body.replace('%s', type ?? '')}`);
    await client.query('RESET ROLE');
    expect(await new Migrator({ url: database.url }).migrate()).toEqual(MIGRATION_NAMES);
    await new Migrator({ url: database.url }).assertCurrent({ plants: ['SELECT', 'INSERT'] });
    await client.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`);
  });
});
