import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions, Migrator } from '../../src/index.js';
import { createTestDatabase, endPool, sentDuring, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';

const SCHEMA = `Green "house's`;
const LARGEST = 9223372036854775807n;
const { INT8 } = pg.types.builtins;

/** The settings of an application's own sessions, which it finds unchanged. */
const OWN = `-c synchronous_commit=off -c statement_timeout=54321 -c search_path=elsewhere`;
const settingsOf = async (pool: pg.Pool): Promise<unknown> =>
  (await pool.query('SHOW synchronous_commit')).rows
    .concat((await pool.query('SHOW statement_timeout')).rows)
    .concat((await pool.query('SHOW search_path')).rows);

/** Another copy of pg than ours, as in an application that depends on another version. */
async function otherPg(): Promise<typeof pg> {
  jest.resetModules();
  return (await import('pg')).default;
}

describe.each(['a pool', 'a pool of another copy of pg', 'a URL'])(
  'a store on %s, with a schema of its own',
  (source) => {
    let database: TestDatabase;
    let pool: pg.Pool;
    let guest: Guest;

    async function lend(): Promise<DatabaseOptions> {
      const config = { connectionString: database.url, options: OWN, max: 2 };
      pool = new (source === 'a pool of another copy of pg' ? await otherPg() : pg).Pool(config);
      return source === 'a URL' ? { url: database.url, schema: SCHEMA } : { pool, schema: SCHEMA };
    }

    beforeAll(async () => {
      database = await createTestDatabase();
      await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
      await database.query(`
        CREATE TABLE told (synchronous_commit text);
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.name = 'Weed' THEN RAISE EXCEPTION USING ERRCODE = '23514'; END IF;
          INSERT INTO public.told VALUES (current_setting('synchronous_commit'));
          RETURN NEW;
        END $$;
        CREATE TRIGGER tell BEFORE INSERT ON ${pg.escapeIdentifier(SCHEMA)}.plants
          FOR EACH ROW EXECUTE FUNCTION tell()`);
      guest = await Guest.start(await lend());
      expect(pool instanceof pg.Pool).toBe(source !== 'a pool of another copy of pg');
    });
    afterAll(async () => {
      await endPool(pool);
      await database.drop();
    });

    const ids = async (schema: string): Promise<unknown[]> => {
      const rows = await database.query(
        `SELECT id::text FROM ${pg.escapeIdentifier(schema)}.plants ORDER BY plants.id`,
      );
      return rows.map(({ id }) => id);
    };

    it('should create plants there, exactly, durably, and each once', async () => {
      await guest.expectCreated(LARGEST, { key: 'one' });
      await guest.expectCreated(LARGEST, { key: 'one' });
      expect(await guest.create(LARGEST)).toMatchObject({ status: 409, body: { error: 40901 } });
      expect(await guest.create(LARGEST, { name: 'Fern', key: 'one' })).toMatchObject({ body: { error: 40902 } });
      await guest.expectCreated(-9007199254740993n);

      expect(await ids(SCHEMA)).toEqual(['-9007199254740993', String(LARGEST)]);
      expect(await ids('public')).toEqual([]);
      const told = await database.query('SELECT DISTINCT synchronous_commit FROM told');
      expect(told).toEqual([{ synchronous_commit: 'on' }]);
    });

    it.each([Number, BigInt])('should do so if the application reads every bigint as a %p', async (parse) => {
      const usual = pg.types.getTypeParser(INT8) as (text: string) => unknown;
      pg.types.setTypeParser(INT8, parse);
      try {
        const id = LARGEST - (parse === Number ? 1n : 2n);
        await guest.expectCreated(id, { key: 'parsed' });
        await guest.expectCreated(id, { key: 'parsed' });
        const near = Array.from({ length: 10 }, (_, index) => id - 100n * BigInt(index + 1));
        await Promise.all(near.map((each) => guest.expectCreated(each)));
        expect(await ids(SCHEMA)).toContain(String(id));
      } finally {
        pg.types.setTypeParser(INT8, usual);
      }
    });

    it('should create many at once, with fewer connections than plants', async () => {
      await Promise.all(Array.from({ length: 30 }, (_, index) => guest.expectCreated(index)));
    });

    it('should create the neighbours of one that is rejected', async () => {
      const near = Array.from({ length: 20 }, (_, index) => 1000 + index);
      const answers = await Promise.all(near.map((id) => guest.create(id, { name: id === 1010 ? 'Weed' : 'Rose' })));
      expect(answers[10]).toMatchObject({ status: 500, body: { error: 50000 } });
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
      const stored = await ids(SCHEMA);
      expect(near.filter((id) => stored.includes(String(id)))).toEqual(near.filter((id) => id !== 1010));
    });

    it('should leave the sessions as they were, and the pool open when the application stops', async () => {
      const own = [{ synchronous_commit: 'off' }, { statement_timeout: '54321ms' }, { search_path: 'elsewhere' }];
      expect(await settingsOf(pool)).toEqual(own);
      await expect(guest.health.check()).resolves.toBeUndefined();
      await guest.stop();
      expect(await settingsOf(pool)).toEqual(own);
      expect(pool.totalCount).toBe(pool.idleCount);
      const sessions = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      expect(await database.query(sessions)).toHaveLength(pool.totalCount);
    });
  },
);

describe('two stores on one pool', () => {
  it('should each keep to a schema of their own', async () => {
    const database = await createTestDatabase();
    await new Migrator({ url: database.url, schema: 'trees' }).migrate();
    const pool = new pg.Pool({ connectionString: database.url });
    const guest = await Guest.start({ pool }, { pool, schema: 'trees' });
    await guest.expectCreated(1);
    await guest.expectCreated(1, { path: 'plants-1', name: 'Oak' });
    await guest.stop();
    expect(await database.query('SELECT name FROM public.plants')).toEqual([{ name: 'Rose' }]);
    expect(await database.query('SELECT name FROM trees.plants')).toEqual([{ name: 'Oak' }]);
    await endPool(pool);
    await database.drop();
  });
});

describe('a store on a pool of the host, with nothing to do', () => {
  beforeEach(() => {
    // Of the timers alone, which go on by themselves as well.
    jest.useFakeTimers({
      advanceTimers: true,
      doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'],
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('should send no statement in an hour', async () => {
    const database = await createTestDatabase();
    const pool = new pg.Pool({ connectionString: database.url });
    const guest = await Guest.start({ pool });
    expect(await sentDuring(() => guest.expectCreated(1))).not.toEqual([]);
    const connections = pool.totalCount;
    expect(await sentDuring(() => jest.advanceTimersByTimeAsync(60 * 60 * 1000))).toEqual([]);
    // The hour did pass: the pool has closed what was idle.
    expect([connections > 0, pool.totalCount]).toEqual([true, 0]);
    await guest.stop();
    await endPool(pool);
    await database.drop();
  });
});
