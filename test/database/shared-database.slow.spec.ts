import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/database/database-url.js';
import { Migrator } from '../../src/index.js';
import {
  type BareDatabase,
  MIGRATION_NAMES,
  MigratorWith,
  openBareDatabase,
} from '../support/database/test-database.js';
import { schemaDifference } from '../support/database/schema-engine.js';
import { Guest } from '../support/host/guest.js';
import { HOST_MODELS, HostMigrations } from '../support/host/host-migrations.js';
import { PlantStoreProcess } from '../support/service/process.js';

const OWN_MODELS = await readFile(fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url)), 'utf8');
const NONE = '-- This is an empty migration.\n';

describe.each(['garden', `Green "house's`])('a database that an application shares, with the store in %s', (schema) => {
  let database: BareDatabase;
  let url: string;
  let host: HostMigrations;
  let store: Migrator;

  beforeEach(async () => {
    database = await openBareDatabase();
    ({ url } = database);
    host = await HostMigrations.of(url);
    store = new Migrator({ url, schema });
  });
  afterEach(async () => {
    await host[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });

  async function migrateByCommand(): Promise<void> {
    const variables = { DATABASE_URL: url };
    await using run = new PlantStoreProcess(['migrate', '--schema', schema], { variables });
    expect({ code: await run.ended, output: run.output }).toEqual({
      code: 0,
      output: expect.stringContaining(': applied '),
    });
  }

  async function expectNoDrift(): Promise<void> {
    expect(await host.drift()).toBe(NONE);
    expect(await store.status()).toBe('current');
    expect(await schemaDifference(parseDatabaseUrl(url, undefined, schema), OWN_MODELS)).toBe(NONE);
  }

  const migrateByCode = async (): Promise<void> => {
    expect(await store.migrate()).toEqual(MIGRATION_NAMES);
  };

  it.each([
    ['the command', 'after', migrateByCommand],
    ['the command', 'before', migrateByCommand],
    ['code', 'after', migrateByCode],
    ['code', 'before', migrateByCode],
  ])('should show no drift to either, if %s migrates the store %s the application', async (_, order, migrate) => {
    if (order === 'before') await migrate();
    expect(await host.deploy()).toEqual(['20200101000000_factories']);
    if (order === 'after') await migrate();
    await expectNoDrift();
  });

  it('should let each migrate further, and show it to itself alone', async () => {
    await host.deploy();
    await store.migrate();
    await host.deployMore();
    const models = HOST_MODELS.replace('@@map("factories")', 'address String?\n @@map("factories")');
    expect(await host.drift(models)).toBe(NONE);
    expect(await store.status()).toBe('current');

    const newer = { '29990101000000_height': 'ALTER TABLE "plants" ADD COLUMN "height" INTEGER;' };
    expect(await new MigratorWith({ url, schema }, newer).migrate()).toEqual(['29990101000000_height']);
    expect(await host.drift(models)).toBe(NONE);
  });

  it('should show to each what is changed of its own tables', async () => {
    await host.deploy();
    await store.migrate();
    await database.client.query(`ALTER TABLE ${pg.escapeIdentifier(schema)}.plants ADD COLUMN extra text`);
    expect(await schemaDifference(parseDatabaseUrl(url, undefined, schema), OWN_MODELS)).toMatch('DROP COLUMN "extra"');
    expect(await host.drift()).toBe(NONE);
    await database.client.query('ALTER TABLE factories ADD COLUMN extra text');
    expect(await host.drift()).toMatch('DROP COLUMN "extra"');
  });
});

describe("a store in the application's own schema", () => {
  it('should not be migrated, and be an error that advises another one', async () => {
    await using database = await openBareDatabase();
    await using host = await HostMigrations.of(database.url);
    await host.deploy();
    await expect(new Migrator({ url: database.url }).migrate()).rejects.toMatchObject({
      code: 'unknown',
      message: expect.stringMatching(/20200101000000_factories\. .* Give the store a schema of its own/) as unknown,
    });
    await expect(Guest.start({ url: database.url })).rejects.toThrow('Give the store a schema of its own');
    expect(await host.drift()).toBe(NONE);
  });
});
