import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions, MigrationError } from '../../src/index.js';
import { endPool } from '../support/database/end-pool.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

describe('tables that a crash would empty', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    await endPool(pool);
    await database.drop();
  });

  it.each<[string, () => DatabaseOptions]>([
    ['a URL', () => ({ url: database.url })],
    ['a pool', () => ({ pool })],
  ])('should be refused at the start with %s, with the statement that keeps them', async (_, options) => {
    for (const table of ['plants', 'access_tokens']) {
      await database.query(`ALTER TABLE ${table} SET UNLOGGED`);
      const error: unknown = await Guest.start(options()).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MigrationError);
      expect(error).toMatchObject({ code: 'refused' });
      const { message } = error as Error;
      const statement = `ALTER TABLE public.${table} SET LOGGED`;
      expect(message).toMatch(
        new RegExp(`^schema public of database .*: a crash of PostgreSQL would empty .* Run ${statement}$`),
      );
      // A leaked token can be revoked all the same.
      expect(await outcomeOfCommandLine('token list', { DATABASE_URL: database.url })).toMatchObject({ code: 0 });
      await database.query(statement);
    }
    const guest = await Guest.start(options());
    await guest.expectCreated(1);
    await guest.stop();
  });

  it('should be found among partitions', async () => {
    await database.query(`DROP TABLE plants; CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text, idempotency_key text,
        created_at timestamptz NOT NULL DEFAULT now(), created_by text, write_id bigint) PARTITION BY HASH (id);
      CREATE TABLE "the first" PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 0) PARTITION BY HASH (id);
      CREATE TABLE plants_0 PARTITION OF "the first" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
      CREATE UNLOGGED TABLE "the second" PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 1)`);
    await expect(Guest.start({ url: database.url })).rejects.toThrow(/Run ALTER TABLE public."the second" SET LOGGED$/);
    await database.query('ALTER TABLE "the second" SET LOGGED; ALTER TABLE plants_0 SET UNLOGGED');
    await expect(Guest.start({ url: database.url })).rejects.toThrow(/Run ALTER TABLE public.plants_0 SET LOGGED$/);
  });
});
