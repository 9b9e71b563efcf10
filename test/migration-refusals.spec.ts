import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MigrationError } from '../src/database/migrations/migration-status.js';
import { Migrator } from '../src/database/migrations/migrator.js';
import { type BareDatabase, openBareDatabase } from './support/bare-database.js';
import { freePort } from './support/free-port.js';
import { MigrationFolder } from './support/migration-folder.js';
import { MIGRATION_NAMES as names } from './support/migration-names.js';

const NEWER = '29990101000000_newer';

describe(MigrationError.name, () => {
  let database: BareDatabase;
  let url: string;
  let client: pg.Client;
  let folder: MigrationFolder;

  beforeEach(async () => {
    folder = await MigrationFolder.create();
    database = await openBareDatabase();
    ({ url, client } = database);
  });

  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
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
    await folder.write(NEWER, 'ALTER TABLE plants ADD COLUMN height integer');
    await new Migrator({ url, folder: folder.path }).migrate();
    const older = new Migrator({ url });
    for (const error of [await failureOf(older.assertCurrent()), await failureOf(older.migrate())]) {
      expect(error.code).toBe('ahead');
      expect(error.message).toMatch(NEWER);
      expect(error.message).toMatch('Deploy the newer build');
    }
  });

  it('should pass on why a migration failed, with nothing of it left, until it is resolved', async () => {
    await folder.write(NEWER, 'CREATE TABLE leaves (id bigint); CREATE TABLE plants (id bigint);');
    const migrator = new Migrator({ url, folder: folder.path });
    const error = await failureOf(migrator.migrate());
    expect(error.code).toBe('failed');
    expect(error.message).toMatch(`migration ${NEWER} of schema public`);
    expect(error.message).toMatch('relation "plants" already exists');
    expect(error.message).not.toMatch('\n');
    expect(error.cause).toBeInstanceOf(Error);
    expect((await client.query(`SELECT to_regclass('leaves') AS leaves`)).rows).toEqual([{ leaves: null }]);

    for (const later of [await failureOf(migrator.assertCurrent()), await failureOf(migrator.migrate())]) {
      expect(later.code).toBe('failed');
      expect(later.message).toMatch(`prisma migrate resolve --rolled-back ${NEWER}`);
    }

    // What `prisma migrate resolve --rolled-back` does.
    await client.query('UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1', [NEWER]);
    await folder.write(NEWER, 'CREATE TABLE leaves (id bigint)');
    expect(await migrator.migrate()).toEqual([NEWER]);
    await migrator.assertCurrent();
  });

  it('should tell that an applied migration was edited', async () => {
    const [name = ''] = names;
    await new Migrator({ url }).migrate();
    await folder.write(name, 'CREATE TABLE plants (id bigint)');
    const error = await failureOf(new Migrator({ url, folder: folder.path }).migrate());
    expect(error.code).toBe('edited');
    expect(error.message).toMatch(name);
  });

  describe('where another process holds the lock', () => {
    const OWN = `pg_advisory_lock(1347178068, hashtext('public'))`;
    const PRISMAS = 'pg_advisory_lock(72707369)';

    it.each([
      ['plant-store migrate', OWN],
      ['prisma migrate', PRISMAS],
    ])('should not wait for `%s` longer than told', async (_, lock) => {
      await client.query(`SELECT ${lock}`);
      const error = await failureOf(new Migrator({ url, timeout: 50 }).migrate());
      expect(error.code).toBe('locked');
      expect(error.message).toMatch('another process is migrating schema public and has not finished within 50 ms');
      expect((await client.query(`SELECT to_regclass('plants') AS plants`)).rows).toEqual([{ plants: null }]);
    });

    it('should not come where the other finishes in time', async () => {
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
