import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions, Migrator, PlantsHealth } from '../../src/index.js';
import { createTestDatabase, endPool, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { until } from '../support/until.js';

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
  let host: Host;

  beforeAll(async () => {
    const { Pool } = source === 'a pool of another copy of pg' ? await otherPg() : pg;
    pool = new Pool({ connectionString: database.url, options: OPTIONS.join(' '), max: 2 });
    host = await Host.on({ ...(source === 'a URL' ? { url: database.url } : { pool }), schema: SCHEMA });
  });
  afterAll(() => endPool(pool));

  it.each([String, Number, BigInt])(
    'should create plants in its schema, exactly and once, if the application reads a bigint as a %p',
    async (parse) => {
      const usual = pg.types.getTypeParser(INT8) as (text: string) => unknown;
      pg.types.setTypeParser(INT8, parse);
      try {
        const many = Array.from({ length: 5 }, (_, index) => LARGEST - BigInt(index));
        for (let sent = 0; sent < 2; sent++) await Promise.all(many.map((id) => host.expectCreated(id, 'key')));
        expect(await host.create(LARGEST)).toMatchObject({ status: 409, body: { error: 40901 } });
        expect(await host.create(LARGEST, { name: 'Fern', key: 'key' })).toMatchObject({ body: { error: 40902 } });
        expect([await ids(), await ids('public.plants')]).toEqual([many.map(String).reverse(), []]);
      } finally {
        pg.types.setTypeParser(INT8, usual);
      }
    },
  );

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
      const answers = await Promise.all(near.map((id) => host.create(id, { name: id === 10 ? 'Weed' : 'Rose' })));
      expect(answers[10]).toMatchObject({ status: 500, body: { error: 50000 } });
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
      expect(await ids()).toEqual(near.filter((id) => id !== 10).map(String));
    } finally {
      await database.query('DROP FUNCTION check_plant CASCADE');
    }
  });

  it('should leave the sessions as they were, and the pool open when the application stops', async () => {
    await host.expectCreated(1);
    await host.app.get(PlantsHealth, { strict: false }).check();
    await host.stop();
    expect(await settingsOf(pool)).toEqual(OWN);
    expect(pool.totalCount).toBe(pool.idleCount);
    const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    expect(await database.query(sessions)).toHaveLength(pool.totalCount);
  });
});

describe('a pool of a host', () => {
  it.each<[string, (pool: pg.Pool) => DatabaseOptions, code: string, message: RegExp]>([
    [
      'lacks the schema',
      (pool) => ({ pool, schema: 'other' }),
      'behind',
      /is not migrated: .*`plant-store migrate`.*Migrator/,
    ],
    [
      'cannot be reached',
      () => ({ pool: new pg.Pool({ host: '127.0.0.1', port: 1, password: 'secret' }) }),
      'unreachable',
      /^cannot use the database that PlantsModule borrows from the host: (?!.*secret)/,
    ],
  ])('should keep the application from starting if it %s', async (_, options, code, message) => {
    const pool = new pg.Pool({ connectionString: database.url });
    const refusal = { code, message: expect.stringMatching(message) };
    await expect(Host.on(options(pool))).rejects.toMatchObject(refusal);
    expect(pool.totalCount).toBe(pool.idleCount);
    await endPool(pool);
  });
});

describe('trouble with a pool of a host', () => {
  // Long enough for a busy machine to create a plant.
  const timeout = 1500;
  let proxy: TcpProxy;
  let pool: pg.Pool;
  let host: Host;

  beforeAll(async () => {
    proxy = await TcpProxy.start(database.url);
    pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
    // As an application does that lives on when idle connections are lost.
    pool.on('error', () => undefined);
    host = await Host.on({ pool, timeout });
  });
  beforeEach(() => host.expectCreated(1));
  afterEach(() => {
    proxy.restore();
  });
  afterAll(async () => {
    await host.stop();
    await endPool(pool);
    await proxy.close();
  });

  /** The create of plant 2 fails in time; when the trouble is over, the next one does not. */
  async function expectPassing(error: 50300 | 50301 | 50400, end: () => unknown): Promise<void> {
    const start = performance.now();
    const message = expect.stringContaining(error === 50400 ? 'unknown' : 'Nothing was written') as unknown;
    expect(await host.create(2)).toMatchObject({ status: Math.trunc(error / 100), body: { error, message } });
    expect(performance.now() - start).toBeLessThan(4 * timeout);
    proxy.restore();
    await end();
    await until(async () => (await host.create(3)).status === 200);
    expect(await ids('plants')).toEqual(['1', '3']);
    expect((await pool.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
  }

  it.each(['reset', 'freeze'] as const)('should be 50300 before the transaction has begun: %s', async (how) => {
    proxy[how]();
    await expectPassing(50300, () => undefined);
  });

  it('should be 50301 if no connection becomes free', async () => {
    const busy = await pool.connect();
    await expectPassing(50301, () => {
      busy.release();
    });
  });

  it.each(['nothing', 'reset', 'freeze'] as const)('should be 50400 under a statement that waits: %s', async (how) => {
    const lock = await TableLock.take(database);
    const breaking = how === 'nothing' ? Promise.resolve() : lock.awaited().then(proxy[how].bind(proxy));
    await expectPassing(50400, () => lock.release());
    await breaking;
  });

  it('should not keep a create from its 200 if the answer to the commit is lost', async () => {
    proxy.loseAnswerTo('COMMIT');
    await host.expectCreated(2);
    expect(await ids('plants')).toEqual(['1', '2']);
  });
});
