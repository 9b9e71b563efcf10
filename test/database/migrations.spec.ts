import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/database/database-url.js';
import { MIGRATIONS } from '../../src/database/generated/migrations.js';
import { Migrator } from '../../src/index.js';
import { PrismaMigrate } from '../support/database/schema-engine.js';
import { type BareDatabase, MIGRATION_NAMES as names, openBareDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { freePort } from '../support/http/free-port.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

const OWN_MODELS = await readFile(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
const [NAME = ''] = names;

/** Of an application that has plants as well, of another kind. */
const HOST_MODELS = `
  datasource db {
    provider = "postgresql"
  }
  model Plant {
    name String @id
    @@map("plants")
  }`;
const HOST_MIGRATION = {
  name: '20200101000000_plants',
  sql: 'CREATE TABLE "plants" ("name" TEXT NOT NULL, CONSTRAINT "plants_pkey" PRIMARY KEY ("name"));',
};

describe(Migrator.name, () => {
  let database: BareDatabase;
  let url: string;
  let client: pg.Client;
  let migrator: Migrator;

  beforeEach(async () => {
    database = await openBareDatabase();
    ({ url, client } = database);
    migrator = new Migrator({ url });
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  it('should migrate an empty database once, from five places at once', async () => {
    expect(await migrator.status()).toBe('behind');
    const applied = await Promise.all([1, 2, 3, 4, 5].map(() => new Migrator({ url }).migrate()));
    expect(applied.flat()).toEqual(names);
    expect([await migrator.status(), await migrator.migrate()]).toEqual(['current', []]);
  });

  it('should leave what `prisma migrate` finds to be in order, and find so what that has made', async () => {
    const prisma = new PrismaMigrate(parseDatabaseUrl(url), MIGRATIONS);
    const history = `SELECT column_name, column_default, data_type, character_maximum_length, is_nullable
      FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY ordinal_position`;
    await migrator.migrate();
    expect(await prisma.findDrift(OWN_MODELS)).toEqual([]);
    expect(await prisma.deploy()).toEqual([]);
    const { rows } = await client.query(history);
    await client.query('DROP TABLE _prisma_migrations, plants, access_tokens');
    expect(await prisma.deploy()).toEqual(names);
    expect((await client.query(history)).rows).toEqual(rows);
    expect([await migrator.status(), await migrator.migrate()]).toEqual(['current', []]);
  });

  it('should give a store in a schema of its own tables that the Prisma of a host does not see', async () => {
    const schema = `Green "house's`;
    const host = new PrismaMigrate(parseDatabaseUrl(url), [HOST_MIGRATION]);
    const own = new PrismaMigrate(parseDatabaseUrl(url, undefined, schema), MIGRATIONS);
    expect(await new Migrator({ url, schema }).migrate()).toEqual(names);
    expect(await host.deploy()).toEqual([HOST_MIGRATION.name]);
    expect([await host.findDrift(HOST_MODELS), await own.findDrift(OWN_MODELS)]).toEqual([[], []]);
    expect(await new Migrator({ url, schema }).status()).toBe('current');

    for (const table of [`${pg.escapeIdentifier(schema)}.plants`, 'plants'])
      await client.query(`ALTER TABLE ${table} ADD COLUMN extra text`);
    for (const drift of [await host.findDrift(HOST_MODELS), await own.findDrift(OWN_MODELS)])
      expect(drift).toEqual([expect.stringContaining('DROP COLUMN "extra"')]);
    const refusal = /20200101000000_plants\. .* Give the store a schema of its own/;
    await expect(migrator.migrate()).rejects.toMatchObject({
      code: 'unknown',
      message: expect.stringMatching(refusal),
    });
    await expect(Guest.start({ url })).rejects.toThrow(refusal);
  });

  const relations = async (): Promise<object[]> =>
    (await client.query<object>(`SELECT c FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace ORDER BY oid`))
      .rows;

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
  ])('should refuse %s, and leave it untouched', async (_, isMigrated, sql, message) => {
    if (isMigrated) await migrator.migrate();
    await client.query(sql);
    const before = await relations();
    expect(await migrator.status()).toBe('unknown');
    await expect(migrator.migrate()).rejects.toMatchObject({
      code: 'unknown',
      message: expect.stringMatching(message),
    });
    for (const command of ['migrate', 'token list']) {
      const { code, stderr } = await outcomeOfCommandLine(command, { DATABASE_URL: url });
      expect([command, code, stderr]).toEqual([
        command,
        1,
        expect.stringMatching(/Give the store a schema of its own/),
      ]);
    }
    expect(await relations()).toEqual(before);
    expect(await new Migrator({ url, schema: 'garden' }).migrate()).toEqual(names);
  });

  it('should say within seconds that another session is in the way', async () => {
    await migrator.migrate();
    await client.query('BEGIN; LOCK TABLE _prisma_migrations');
    const locked = { code: 'locked', message: expect.stringMatching(/is locked: another session .* Run it again$/) };
    await expect(migrator.migrate()).rejects.toMatchObject(locked);
    const { code, stderr } = await outcomeOfCommandLine('migrate', { DATABASE_URL: url });
    expect([code, stderr]).toEqual([1, expect.stringContaining('Run it again')]);
  });

  it('should leave nothing of a migration that fails, and say why', async () => {
    await client.query('CREATE SEQUENCE access_tokens_name_idx');
    const before = await relations();
    await expect(migrator.migrate()).rejects.toThrow('relation "access_tokens_name_idx" already exists');
    expect([await migrator.status(), await relations()]).toEqual(['behind', before]);
    const { code, stderr } = await outcomeOfCommandLine('token list', { DATABASE_URL: url });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`it lacks ${NAME}. Run \`plant-store migrate\``)]);
  });

  it('should say that a database cannot be reached, without the password', async () => {
    const port = await freePort();
    const absent = new Migrator({ url: `postgresql://gardener:secret@localhost:${port}/plants` });
    expect(await absent.status()).toBe('unreachable');
    const told = `cannot connect to database plants at localhost:${port} as gardener: `;
    await expect(absent.migrate()).rejects.toMatchObject({ code: 'unreachable', message: expect.stringMatching(told) });
    await expect(absent.migrate()).rejects.not.toThrow('secret');
  });
});
