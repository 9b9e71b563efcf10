import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions, MigrationError, Migrator } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/host.js';

const SCHEMA = `Green "house's`;
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
const LARGEST = 9223372036854775807n;
const { INT8 } = pg.types.builtins;

/** The settings of an application's own sessions, which it finds unchanged. */
const OWN = { synchronous_commit: 'off', statement_timeout: '54321ms', search_path: 'elsewhere' };
const OPTIONS = Object.entries(OWN).map(([name, value]) => `-c ${name}=${value}`);
const settingsOf = async (pool: pg.Pool): Promise<unknown> => {
  const columns = Object.keys(OWN).map((name) => `current_setting('${name}') AS ${name}`);
  return (await pool.query(`SELECT ${columns.join()}`)).rows[0];
};

/** Another copy of pg than ours, as in an application that depends on another version. */
async function otherPg(): Promise<typeof pg> {
  jest.resetModules();
  return (await import('pg')).default;
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
});
beforeEach(() => database.query(`TRUNCATE plants, ${TABLE}`));
afterAll(() => database.drop());

const ids = async (table = TABLE): Promise<unknown[]> =>
  (await database.query(`SELECT id::text FROM ${table} ORDER BY plants.id`)).map(({ id }) => id);

describe.each(['a pool', 'a pool of another copy of pg', 'a URL'])('a store on %s of a host', (source) => {
  let pool: pg.Pool;
  let guest: Guest;

  beforeAll(async () => {
    const { Pool } = source === 'a pool of another copy of pg' ? await otherPg() : pg;
    pool = new Pool({ connectionString: database.url, options: OPTIONS.join(' '), max: 2 });
    guest = await Guest.start(source === 'a URL' ? { url: database.url, schema: SCHEMA } : { pool, schema: SCHEMA });
  });
  afterAll(() => endPool(pool));

  it('should create plants in its schema, exactly, and each once', async () => {
    await guest.expectCreated(LARGEST, { key: 'one' });
    await guest.expectCreated(LARGEST, { key: 'one' });
    expect(await guest.create(LARGEST)).toMatchObject({ status: 409, body: { error: 40901 } });
    expect(await guest.create(LARGEST, { name: 'Fern', key: 'one' })).toMatchObject({ body: { error: 40902 } });
    expect([await ids(), await ids('public.plants')]).toEqual([[String(LARGEST)], []]);
  });

  it.each([Number, BigInt])('should do so if the application reads every bigint as a %p', async (parse) => {
    const usual = pg.types.getTypeParser(INT8) as (text: string) => unknown;
    pg.types.setTypeParser(INT8, parse);
    try {
      const many = Array.from({ length: 20 }, (_, index) => LARGEST - BigInt(index));
      for (let sent = 0; sent < 2; sent++)
        await Promise.all(many.map((id) => guest.expectCreated(id, { key: 'parsed' })));
      expect(await ids()).toEqual(many.map(String).reverse());
    } finally {
      pg.types.setTypeParser(INT8, usual);
    }
  });

  it('should wait for the disk, and create the neighbours of one that is rejected', async () => {
    await database.query(`
      CREATE FUNCTION check_plant() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF current_setting('synchronous_commit') <> 'on' OR NEW.name = 'Weed' THEN RAISE EXCEPTION ''; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER check_plant BEFORE INSERT ON ${TABLE} FOR EACH ROW EXECUTE FUNCTION check_plant()`);
    try {
      const near = Array.from({ length: 20 }, (_, index) => index);
      const answers = await Promise.all(near.map((id) => guest.create(id, { name: id === 10 ? 'Weed' : 'Rose' })));
      expect(answers[10]).toMatchObject({ status: 500, body: { error: 50000 } });
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
      expect(await ids()).toEqual(near.filter((id) => id !== 10).map(String));
    } finally {
      await database.query('DROP FUNCTION check_plant CASCADE');
    }
  });

  it('should leave the sessions as they were, and the pool open when the application stops', async () => {
    await guest.expectCreated(1);
    await guest.health.check();
    await guest.stop();
    expect(await settingsOf(pool)).toEqual(OWN);
    expect(pool.totalCount).toBe(pool.idleCount);
    const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    expect(await database.query(sessions)).toHaveLength(pool.totalCount);
  });
});

describe('a pool of a host', () => {
  it.each<[string, MigrationError['code'], RegExp, (pool: pg.Pool) => DatabaseOptions]>([
    [
      'lacks the schema',
      'behind',
      /is not migrated: .*`plant-store migrate`.*Migrator/,
      (pool) => ({ pool, schema: 'other' }),
    ],
    [
      'cannot be reached',
      'unreachable',
      /^cannot use the database that PlantsModule borrows from the host: (?!.*secret)/,
      () => ({ pool: new pg.Pool({ host: '127.0.0.1', port: 1, password: 'secret' }) }),
    ],
  ])('should keep the application from starting if it %s', async (_, code, message, options) => {
    const pool = new pg.Pool({ connectionString: database.url });
    await expect(Guest.start(options(pool))).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(pool.totalCount).toBe(pool.idleCount);
    await endPool(pool);
  });
});
