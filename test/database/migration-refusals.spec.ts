import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MigrationError, Migrator } from '../../src/index.js';
import {
  type BareDatabase,
  MIGRATION_NAMES as names,
  MigratorWith,
  openBareDatabase,
} from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { rejectionOf } from '../support/rejection.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

const NEWER = '29990101000000_newer';
const ADD_HEIGHT = { [NEWER]: 'ALTER TABLE plants ADD COLUMN height integer' };
/** The locks of `plant-store migrate` and of `prisma migrate`. */
const LOCKS = `SELECT pg_advisory_lock(1347178068, hashtext('public')), pg_advisory_lock(72707369)`;

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
    const error = await rejectionOf(work);
    expect(error).toBeInstanceOf(MigrationError);
    return error as MigrationError;
  };
  /** All relations, and the history. */
  const everything = async (): Promise<unknown> => {
    const relations = `SELECT json_agg(c ORDER BY oid) FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace`;
    const hasHistory = (await client.query(`SELECT FROM pg_class WHERE relname = '_prisma_migrations'`)).rowCount;
    const history = hasHistory ? await client.query<object>('SELECT * FROM _prisma_migrations') : undefined;
    return [(await client.query<object>(relations)).rows, history?.rows];
  };

  async function expectUntouched(message: RegExp): Promise<void> {
    const before = await everything();
    const migrator = new Migrator({ url });
    expect(await migrator.status()).toBe('unknown');
    const error = await failureOf(migrator.migrate());
    expect([error.code, error.message]).toEqual(['unknown', expect.stringMatching(message)]);
    expect(error.message).toMatch('Give the store a schema of its own');
    for (const command of ['migrate', 'token list'])
      expect(await outcomeOfCommandLine(command, { DATABASE_URL: url })).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(message) as unknown,
      });
    expect(await everything()).toEqual(before);
    expect(await new Migrator({ url, schema: 'garden' }).migrate()).toEqual(names);
  }

  it('should say that a database is not migrated, and what to run', async () => {
    expect(await outcomeOfCommandLine('token list', { DATABASE_URL: url })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        `is not migrated: it lacks ${names.join(', ')}. Run .plant-store migrate.`,
      ) as unknown,
    });
  });

  it('should refuse the history of a newer build, and of another application', async () => {
    await new MigratorWith({ url }, ADD_HEIGHT).migrate();
    await expectUntouched(new RegExp(`has a history of migrations that this build does not know.*: ${NEWER}\\.`));
  });

  it('should refuse another SQL of one of its migrations', async () => {
    const [name = ''] = names;
    await new MigratorWith({ url }, { [name]: 'CREATE TABLE plants (id bigint PRIMARY KEY, name text)' }).migrate();
    await expectUntouched(new RegExp(name));
  });

  it('should refuse a migration that Prisma has begun and not finished', async () => {
    await new Migrator({ url }).migrate();
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL');
    await expectUntouched(/or that is not finished/);
  });

  it('should refuse plants without a history', async () => {
    await client.query(`CREATE TABLE plants (name text); INSERT INTO plants VALUES ('Rose')`);
    await expectUntouched(/has tables without a history of migrations: plants\. They are of another application/);
  });

  it('should show the name of a migration as nothing to run', async () => {
    const name = 'a"; $(touch x)\nrm `-r` .';
    await new Migrator({ url }).migrate();
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES (1, 2, $1, now())`,
      [name],
    );
    const { message } = await failureOf(new Migrator({ url }).migrate());
    expect(message).toMatch('touch x');
    expect(message).not.toMatch(/[`$\n]/);
  });

  it('should pass on why a migration failed, with nothing of it left', async () => {
    const faulty = { [NEWER]: 'CREATE TABLE leaves (id bigint); CREATE TABLE plants (id bigint);' };
    const error = await failureOf(new MigratorWith({ url }, faulty).migrate());
    expect(error.message).toMatch('relation "plants" already exists');
    expect(error.cause).toBeInstanceOf(pg.DatabaseError);
    expect(await new Migrator({ url }).status()).toBe('behind');
    expect((await client.query(`SELECT to_regclass('plants') AS plants`)).rows).toEqual([{ plants: null }]);
  });

  it('should come within seconds, and let creates go on, if another session is in the way', async () => {
    await new Migrator({ url }).migrate();
    await client.query('BEGIN; SELECT FROM plants');
    const { code, message } = await failureOf(new MigratorWith({ url }, ADD_HEIGHT).migrate());
    expect([code, message]).toEqual(['locked', expect.stringMatching(/is locked: another session .* Run it again$/)]);
    await client.query('COMMIT');
    await client.query('BEGIN; LOCK TABLE _prisma_migrations');
    expect(await outcomeOfCommandLine('migrate', { DATABASE_URL: url })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Run it again') as unknown,
    });
    await client.query('COMMIT');
    expect(await new MigratorWith({ url }, ADD_HEIGHT).migrate()).toEqual([NEWER]);
  });

  it('should not come if another one that migrates finishes in time', async () => {
    await client.query(LOCKS);
    const migration = new Migrator({ url }).migrate();
    let waiting = 0;
    while (waiting === 0) {
      const { rowCount } = await client.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
      waiting = rowCount ?? 0;
    }
    await client.query('SELECT pg_advisory_unlock_all()');
    expect(await migration).toEqual(names);
  });

  it('should say which database is out of reach, without its password', async () => {
    const port = await freePort();
    const migrator = new Migrator({ url: `postgresql://gardener:not-to-be-told@localhost:${port}/plants` });
    expect(await migrator.status()).toBe('unreachable');
    const { code, message } = await failureOf(migrator.migrate());
    expect(code).toBe('unreachable');
    expect(message).toMatch(`cannot connect to database plants at localhost:${port} as gardener: `);
    expect(message).not.toMatch('not-to-be-told');
  });

  it('should name each option that cannot be used', () => {
    const options = { url: 'mysql://root:secret@db/plants', lockWait: 0, schema: '$user', grantTo: 5 } as never;
    expect(() => new Migrator(options)).toThrow(
      /lockWait: is no option, .*\nurl: must be a PostgreSQL URL .*\nschema: must not be \$user.*\ngrantTo: is 5/,
    );
    expect(() => new Migrator(options)).not.toThrow('secret');
  });
});
