import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MigrationError } from '../../../src/database/migrations/migration-status.js';
import { Migrator } from '../../../src/database/migrations/migrator.js';
import { type BareDatabase, openBareDatabase } from '../../support/database/bare-database.js';
import { MIGRATION_NAMES as names } from '../../support/database/migration-names.js';
import { MigratorWith } from '../../support/database/migrator-with.js';
import { freePort } from '../../support/http/free-port.js';
import { outcomeOfCommandLine } from '../../support/service/run-command-line.js';

const NEWER = '29990101000000_newer';

describe(MigrationError.name, () => {
  let database: BareDatabase;
  let url: string;
  let client: pg.Client;

  beforeEach(async () => {
    database = await openBareDatabase();
    ({ url, client } = database);
  });

  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  const failureOf = async (work: Promise<unknown>): Promise<MigrationError> => {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(MigrationError);
    return error as MigrationError;
  };

  it('should say that a database is not migrated, and what to run', async () => {
    const error = await failureOf(new Migrator({ url }).assertCurrent());
    expect(error.code).toBe('pending');
    expect(error.message).toMatch(names.join(', '));
    expect(error.message).toMatch('Run `plant-store migrate`');
  });

  it('should say that a newer build has migrated the database, and what to deploy', async () => {
    await new MigratorWith({ url }, { [NEWER]: 'ALTER TABLE plants ADD COLUMN height integer' }).migrate();
    const older = new Migrator({ url });
    for (const error of [await failureOf(older.assertCurrent()), await failureOf(older.migrate())]) {
      expect(error.code).toBe('ahead');
      expect(error.message).toMatch(NEWER);
      expect(error.message).toMatch('Deploy the newer build');
    }
    for (const command of ['token list', 'token create gardener'])
      expect(await outcomeOfCommandLine(command, { DATABASE_URL: url })).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('Deploy the newer build') as unknown,
      });
  });

  it('should pass on why a migration failed, with nothing of it left', async () => {
    const faulty = { [NEWER]: 'CREATE TABLE leaves (id bigint); CREATE TABLE plants (id bigint);' };
    const migrator = new MigratorWith({ url }, faulty);
    const error = await failureOf(migrator.migrate());
    expect(error.code).toBe('failed');
    expect(error.message).toMatch(`migration ${NEWER} of schema public`);
    expect(error.message).toMatch('relation "plants" already exists');
    expect(error.message).not.toMatch('\n');
    expect(error.cause).toBeInstanceOf(Error);
    expect((await client.query(`SELECT to_regclass('leaves') AS leaves`)).rows).toEqual([{ leaves: null }]);

    expect(await migrator.status()).toEqual({ applied: names, pending: [NEWER], unknown: [], failed: [] });
    await new Migrator({ url }).assertCurrent();
    const mended = new MigratorWith({ url }, { [NEWER]: 'CREATE TABLE leaves (id bigint)' });
    expect(await mended.migrate()).toEqual([NEWER]);
    await mended.assertCurrent();
  });

  it('should refuse a database of an earlier build, with plants and tokens, and leave it as it is', async () => {
    const earlier = {
      '20261121000000_create_plants': 'CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)',
      '20261122000000_add_access_tokens': 'CREATE TABLE access_tokens (id serial PRIMARY KEY, name text, digest bytea)',
      '20261123000000_add_write_id': 'ALTER TABLE plants ADD COLUMN write_id bigint',
      '20261124000000_add_rate_limit': 'ALTER TABLE access_tokens ADD COLUMN requests integer',
    };
    await new MigratorWith({ url }, earlier).migrate();
    await client.query(
      `INSERT INTO plants (id, name) VALUES (1, 'Rose'); INSERT INTO access_tokens (name) VALUES ('shop')`,
    );
    const everything = async (): Promise<unknown[]> => {
      const sql = `SELECT (SELECT json_agg(p) FROM plants AS p) AS plants, (SELECT json_agg(t) FROM access_tokens AS t) AS tokens,
        (SELECT json_agg(m ORDER BY migration_name) FROM _prisma_migrations AS m) AS history,
        (SELECT json_agg(c ORDER BY oid) FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace) AS relations`;
      return (await client.query<Record<string, unknown>>(sql)).rows;
    };
    const before = await everything();
    const migrator = new Migrator({ url });
    for (const error of [await failureOf(migrator.migrate()), await failureOf(migrator.assertCurrent())]) {
      expect(error.code).toBe('edited');
      expect(error.message).toMatch(
        /^schema public of .* has a history that this build does not know: .* 20261121000000_create_plants\. Use the build that/,
      );
    }
    for (const command of ['migrate', 'token create gardener'])
      expect(await outcomeOfCommandLine(command, { DATABASE_URL: url })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('has a history that this build does not know') as unknown,
      });
    expect(await everything()).toEqual(before);
  });

  it.each(['sh`touch x`', 'a"; $(touch x)\nrm -r .'])(
    'should show the name %j of a migration as nothing to run',
    async (name) => {
      const migrator = new Migrator({ url });
      await migrator.migrate();
      await client.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES (1, 2, $1, now())`,
        [name],
      );
      for (const error of [await failureOf(migrator.assertCurrent()), await failureOf(migrator.migrate())]) {
        expect(error.code).toBe('ahead');
        expect(error.message).not.toMatch(/[`$\n]/);
      }
      await client.query('UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1', [name]);
      const { code, message } = await failureOf(migrator.migrate());
      expect([code, message]).toEqual(['failed', expect.stringContaining('of the newer build that has it')]);
      expect(message).not.toMatch(/touch x[`)]|\n/);
    },
  );

  describe('if another process holds the lock', () => {
    const OWN = `pg_advisory_lock(1347178068, hashtext('public'))`;
    const PRISMAS = 'pg_advisory_lock(72707369)';

    it.each([
      ['plant-store migrate', OWN],
      ['prisma migrate', PRISMAS],
    ])('should not wait for `%s` longer than its limit', async (_, lock) => {
      await client.query(`SELECT ${lock}`);
      const error = await failureOf(new Migrator({ url, timeout: 50 }).migrate());
      expect(error.code).toBe('locked');
      expect(error.message).toMatch('another process is migrating schema public and has not finished within 50 ms');
      expect((await client.query(`SELECT to_regclass('plants') AS plants`)).rows).toEqual([{ plants: null }]);
    });

    it('should not come if the other finishes in time', async () => {
      await client.query(`SELECT ${OWN}`);
      const migration = new Migrator({ url }).migrate();
      let waiting = 0;
      while (waiting === 0) {
        const { rowCount } = await client.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
        waiting = rowCount ?? 0;
      }
      await client.query('SELECT pg_advisory_unlock_all()');
      expect(await migration).toEqual(names);
    });
  });

  it('should pass on what the server refuses', async () => {
    const error = await failureOf(new Migrator({ url, schema: 'pg_garden' }).migrate());
    expect(error.code).toBe('refused');
    expect(error.message).toMatch('unacceptable schema name "pg_garden"');
  });

  it('should say which database is out of reach, without its password', async () => {
    const port = await freePort();
    const migrator = new Migrator({ url: `postgresql://gardener:not-to-be-told@localhost:${port}/plants` });
    for (const error of await Promise.all([
      failureOf(migrator.migrate()),
      failureOf(migrator.assertCurrent()),
      failureOf(migrator.status()),
    ])) {
      expect(error.code).toBe('unreachable');
      expect(error.message).toMatch(
        new RegExp(`cannot connect to database plants at localhost:${port} as gardener: .*connect ECONNREFUSED`),
      );
      expect(error.message).not.toMatch('not-to-be-told');
    }
  });
});
