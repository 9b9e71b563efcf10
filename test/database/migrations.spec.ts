import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/database/database-url.js';
import { MIGRATIONS } from '../../src/database/generated/migrations.js';
import { Migrator } from '../../src/database/migrator.js';
import {
  type BareDatabase,
  checksumOf,
  MIGRATION_NAMES as names,
  MigratorWith,
  openBareDatabase,
} from '../support/database/test-database.js';
import {
  deployByPrisma,
  diagnoseByPrisma,
  MIGRATIONS_FOLDER,
  readMigrations,
  schemaDifference,
} from '../support/database/schema-engine.js';

const SCHEMA_FILE = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url));

describe(Migrator.name, () => {
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

  const rowsOf = async (sql: string): Promise<unknown[]> => (await client.query<pg.QueryResultRow>(sql)).rows;

  it('should apply every migration to an empty database, and none of them again', async () => {
    const migrator = new Migrator({ url });
    expect(await migrator.status()).toBe('behind');
    expect(await migrator.migrate()).toEqual(names);
    expect(await migrator.migrate()).toEqual([]);
    expect(await migrator.status()).toBe('current');
  });

  it('should create the table of plants as designed', async () => {
    await new Migrator({ url }).migrate();
    const columns = await rowsOf(
      `SELECT column_name, data_type, datetime_precision, is_nullable, column_default, is_identity, is_generated
       FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'plants' ORDER BY ordinal_position`,
    );
    const plain = {
      datetime_precision: null,
      is_nullable: 'NO',
      column_default: null,
      is_identity: 'NO',
      is_generated: 'NEVER',
    };
    expect(columns).toEqual([
      { ...plain, column_name: 'id', data_type: 'bigint' },
      { ...plain, column_name: 'name', data_type: 'text' },
      { ...plain, column_name: 'tag', data_type: 'text', is_nullable: 'YES' },
      { ...plain, column_name: 'idempotency_key', data_type: 'text', is_nullable: 'YES' },
      {
        ...plain,
        column_name: 'created_at',
        data_type: 'timestamp with time zone',
        datetime_precision: 6,
        column_default: 'CURRENT_TIMESTAMP',
      },
      { ...plain, column_name: 'created_by', data_type: 'text', is_nullable: 'YES' },
      { ...plain, column_name: 'write_id', data_type: 'bigint', is_nullable: 'YES' },
    ]);
    expect(
      await rowsOf(`SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
                    WHERE conrelid = 'plants'::regclass AND contype <> 'n'`),
    ).toEqual([{ definition: 'PRIMARY KEY (id)' }]);
    expect(await rowsOf(`SELECT indexname FROM pg_indexes WHERE tablename = 'plants'`)).toEqual([
      { indexname: 'plants_pkey' },
    ]);
  });

  it('should have 64 bits for the id of an access token', async () => {
    await new Migrator({ url }).migrate();
    expect(
      await rowsOf(`SELECT data_type FROM information_schema.columns
                    WHERE table_name = 'access_tokens' AND column_name = 'id'
                    UNION ALL SELECT data_type FROM information_schema.sequences`),
    ).toEqual([{ data_type: 'bigint' }, { data_type: 'bigint' }]);
  });

  it('should keep the history where and as `prisma migrate` does', async () => {
    await new Migrator({ url }).migrate();
    const checksums = await Promise.all(
      names.map(async (name) => {
        return checksumOf(await readFile(join(MIGRATIONS_FOLDER, name, 'migration.sql')));
      }),
    );
    expect(
      await rowsOf(
        `SELECT migration_name, checksum, finished_at >= started_at AS finished, logs, rolled_back_at, applied_steps_count
         FROM public._prisma_migrations ORDER BY started_at`,
      ),
    ).toEqual(
      names.map((migration_name, index) => ({
        migration_name,
        checksum: checksums[index],
        finished: true,
        logs: null,
        rolled_back_at: null,
        applied_steps_count: 1,
      })),
    );
  });

  it('should have the migrations of this build in its code, as the files have them', async () => {
    const { migrationDirectories } = await readMigrations();
    const files = migrationDirectories.map(({ path, migrationFile: { content } }) => [path, content.value]);
    expect(MIGRATIONS.map(({ name, sql }) => [name, sql])).toEqual(files);
    for (const { checksum, sql } of MIGRATIONS) expect(checksum).toBe(checksumOf(sql));
  });

  it('should leave what Prisma finds to be up to date, in a table as Prisma makes it', async () => {
    const history = `SELECT pg_get_expr(adbin, adrelid) AS initial, attname, atttypid::regtype, atttypmod, attnotnull,
        pg_get_indexdef(indexrelid) AS index
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      JOIN pg_index ON indrelid = attrelid WHERE attrelid = 'public._prisma_migrations'::regclass AND attnum > 0 ORDER BY attnum`;
    const list = await readMigrations();
    await new Migrator({ url }).migrate();
    expect(await diagnoseByPrisma(parseDatabaseUrl(url), list)).toBeNull();
    expect(await deployByPrisma(parseDatabaseUrl(url), list)).toEqual([]);
    const own = await rowsOf(history);
    await client.query('DROP TABLE _prisma_migrations, plants, access_tokens');
    expect(await deployByPrisma(parseDatabaseUrl(url), list)).toEqual(names);
    expect(own).toEqual(await rowsOf(history));
  });

  it.each(['\n', '\r\n'])('should find done what Prisma has done, with line ends %j', async (lineEnd) => {
    const list = await readMigrations();
    const migrationDirectories = list.migrationDirectories.map((directory) => {
      const value = directory.migrationFile.content.value.replaceAll('\n', lineEnd);
      return { ...directory, migrationFile: { ...directory.migrationFile, content: { tag: 'ok', value } as const } };
    });
    expect(await deployByPrisma(parseDatabaseUrl(url), { ...list, migrationDirectories })).toEqual(names);
    const migrator = new Migrator({ url });
    expect(await migrator.migrate()).toEqual([]);
    expect(await migrator.status()).toBe('current');
  });

  it('should keep to a schema other than public', async () => {
    const schema = 'green "house';
    const migrator = new Migrator({ url, schema });
    expect(await migrator.migrate()).toEqual(names);
    expect(await migrator.migrate()).toEqual([]);
    expect(await migrator.status()).toBe('current');
    const inUrl = new URL(url);
    inUrl.searchParams.set('schema', schema);
    expect(await new Migrator({ url: inUrl.href }).status()).toBe('current');
    expect(
      await rowsOf(
        `SELECT schemaname, tablename FROM pg_tables WHERE tablename IN ('plants', '_prisma_migrations') ORDER BY tablename`,
      ),
    ).toEqual([
      { schemaname: schema, tablename: '_prisma_migrations' },
      { schemaname: schema, tablename: 'plants' },
    ]);
    expect(await new Migrator({ url }).migrate()).toEqual(names);
  });

  it('should apply a script as a whole, with semicolons in any part of it', async () => {
    const sql = `CREATE FUNCTION answer() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'a;b'; END; $$; -- one; two`;
    await new MigratorWith({ url }, { '29990101000000_function': sql }).migrate();
    expect(await rowsOf('SELECT answer()')).toEqual([{ answer: 'a;b' }]);
  });

  it('should agree with the schema', async () => {
    await new Migrator({ url }).migrate();
    const schema = await readFile(SCHEMA_FILE, 'utf8');
    expect(await schemaDifference(parseDatabaseUrl(url), schema)).toBe('-- This is an empty migration.\n');
  });
});
