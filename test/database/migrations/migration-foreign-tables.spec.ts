import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Migrator } from '../../../src/index.js';
import { type BareDatabase, openBareDatabase } from '../../support/database/bare-database.js';
import { MIGRATION_NAMES } from '../../support/database/migration-names.js';
import { rejectionOf } from '../../support/rejection.js';

describe('a schema with tables and no history of migrations', () => {
  let database: BareDatabase;

  beforeEach(async () => {
    database = await openBareDatabase();
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  it('should be refused if they are of another application, with the advice to take another schema', async () => {
    await database.client.query('CREATE TABLE weeds (id bigint); CREATE TABLE "Thistles" (id bigint)');
    const migrator = new Migrator({ url: database.url });
    for (const error of [await rejectionOf(migrator.migrate()), await rejectionOf(migrator.assertCurrent())]) {
      expect(error).toMatchObject({ name: 'MigrationError', code: 'foreign' });
      const { message } = error as Error;
      expect(message).toMatch(/^schema public of .* holds tables of another application: Thistles, weeds\. /);
      expect(message).toMatch('Give the store a schema of its own');
      expect(message).toMatch(
        '`plant-store migrate --schema NAME`, or `await new Migrator({ url, schema }).migrate()`',
      );
    }
    await database.client.query('CREATE TABLE brambles (id bigint); CREATE TABLE nettles (id bigint)');
    expect(await rejectionOf(migrator.migrate())).toMatchObject({
      message: expect.stringContaining('application: Thistles, brambles, nettles, …. Give') as unknown,
    });
    expect((await database.client.query(`SELECT to_regclass('_prisma_migrations') AS history`)).rows).toEqual([
      { history: null },
    ]);
    expect(await new Migrator({ url: database.url, schema: 'garden' }).migrate()).toEqual(MIGRATION_NAMES);
  });

  it('should be no hindrance if they are of an extension, such as PostGIS', async () => {
    await database.client.query('CREATE TABLE spatial_ref_sys (id bigint)');
    await database.client.query(`INSERT INTO pg_depend
      SELECT 'pg_class'::regclass, 'spatial_ref_sys'::regclass, 0, 'pg_extension'::regclass, oid, 0, 'e'
      FROM pg_extension WHERE extname = 'plpgsql'`);
    expect(await new Migrator({ url: database.url }).migrate()).toEqual(MIGRATION_NAMES);
  });
});
