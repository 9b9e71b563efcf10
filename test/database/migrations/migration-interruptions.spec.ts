import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/database/database-url.js';
import { MigrationError, Migrator } from '../../../src/index.js';
import { type BareDatabase, openBareDatabase } from '../../support/database/bare-database.js';
import { MIGRATION_NAMES } from '../../support/database/migration-names.js';
import { diagnoseByPrisma, readMigrations } from '../../support/database/schema-engine.js';
import { rejectionOf } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const LAST = MIGRATION_NAMES.at(-1) ?? '';
/** The last migration that changes the table of plants, and those after it. */
const FROM_PLANTS = MIGRATION_NAMES.slice(MIGRATION_NAMES.indexOf('20261123000000_add_write_id'));
const DROP_LAST = 'ALTER TABLE access_tokens DROP COLUMN requests_per_minute';

describe('a database whose last migration was interrupted', () => {
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

  const forget = (): Promise<unknown> =>
    client.query(
      `ALTER TABLE plants DROP COLUMN write_id; ${DROP_LAST};
       DELETE FROM _prisma_migrations WHERE migration_name >= '${FROM_PLANTS[0]}'`,
    );
  /** As Prisma's engine does. */
  const begin = (): Promise<unknown> =>
    client.query(`UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '${LAST}'`);
  const expectComplete = async (): Promise<void> => {
    await migrator.assertCurrent();
    expect(await migrator.migrate()).toEqual([]);
    await client.query('SELECT write_id FROM plants; SELECT requests_per_minute FROM access_tokens');
    expect(await diagnoseByPrisma(parseDatabaseUrl(url), await readMigrations())).toBeNull();
  };
  const connected = async (): Promise<pg.Client> => {
    const other = new pg.Client({ connectionString: url, application_name: 'psql $(id)' });
    await other.connect();
    return other;
  };

  it.each([
    ['is there', ''],
    ['is not there', DROP_LAST],
  ])('should be reported at the start, and be finished by migrate, if its column %s', async (_, sql) => {
    await begin();
    await client.query(sql);
    const { code, message } = (await rejectionOf(migrator.assertCurrent())) as MigrationError;
    expect([code, message]).toEqual(['failed', expect.stringContaining('Run `plant-store migrate`')]);
    expect(message).not.toContain('prisma');
    expect(await migrator.migrate()).toEqual([LAST]);
    await expectComplete();
  });

  it('should be finished if its statement still waits for the table', async () => {
    await begin();
    await client.query(DROP_LAST);
    const [reader, orphan] = [await connected(), await connected()];
    await reader.query('BEGIN; SELECT FROM access_tokens');
    const waiting = orphan.query('ALTER TABLE access_tokens ADD COLUMN requests_per_minute INTEGER');
    const waits = async (count: number): Promise<void> => {
      const sql = `SELECT FROM pg_locks WHERE relation = 'access_tokens'::regclass AND NOT granted`;
      await until(async () => (await client.query(sql)).rowCount === count);
    };
    await waits(1);
    const migration = migrator.migrate();
    await waits(2);
    await reader.end();
    await waiting;
    expect(await migration).toEqual([LAST]);
    await orphan.end();
    await expectComplete();
  });

  it('should keep creates no longer than two seconds if others use the table, and name them', async () => {
    await forget();
    const reader = await connected();
    await reader.query('BEGIN; SELECT FROM plants');
    const { rows } = await reader.query<{ pid: number; role: string }>(
      'SELECT pg_backend_pid() AS pid, current_user AS role',
    );
    const start = performance.now();
    const migration = rejectionOf(new Migrator({ url, lockWait: 0 }).migrate());
    await until(async () => (await client.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount === 1);
    await client.query(`INSERT INTO plants (id, name) VALUES (1, 'Rose')`);
    expect(performance.now() - start).toBeLessThan(4000);
    const { code, message } = (await migration) as MigrationError;
    expect(code).toBe('locked');
    expect(message).toMatch(
      `waits for a lock of process ${rows[0]?.pid} (role ${rows[0]?.role}, application psql \\u{24}`,
    );
    expect(message).toMatch(/, for \d+ s\): given up\./);
    expect(await migrator.status()).toMatchObject({ pending: FROM_PLANTS, failed: [] });
    await reader.end();
    expect(await migrator.migrate()).toEqual(FROM_PLANTS);
    await expectComplete();
  });

  it('should be migrated further if the server ended the session', async () => {
    await forget();
    const reader = await connected();
    await reader.query('BEGIN; SELECT FROM plants');
    const migration = rejectionOf(migrator.migrate());
    const waiting = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => (await client.query(`SELECT pg_terminate_backend(pid) ${waiting}`)).rowCount === 1);
    expect(await migration).toMatchObject({ code: 'failed' });
    await reader.end();
    expect(await migrator.migrate()).toEqual(FROM_PLANTS);
    await expectComplete();
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
