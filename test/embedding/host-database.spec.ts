import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { Migrator, PlantsHealth } from '../../src/index.js';
import { createTestDatabase, endPool, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { until } from '../support/until.js';

const SCHEMA = `Green "house's`;
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
const LARGEST = 9223372036854775807n;
/** The settings of an application's own sessions, which it finds unchanged. */
const OWN = { synchronous_commit: 'off', statement_timeout: '54321ms', search_path: 'elsewhere' };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
});
beforeEach(() => database.query(`TRUNCATE plants, ${TABLE}`));
afterAll(() => database.drop());

const ids = async (table = TABLE): Promise<unknown[]> =>
  (await database.query(`SELECT id::text FROM ${table} ORDER BY plants.id`)).map(({ id }) => id);

describe.each(['a pool', 'a URL'])('a store on %s of a host', (source) => {
  let pool: pg.Pool;
  let host: Host;

  beforeAll(async () => {
    // Another copy of pg than the store's, as in an application that depends on another version.
    jest.resetModules();
    const { Pool, types } = (await import('pg')).default;
    for (const each of [types, pg.types]) each.setTypeParser(types.builtins.INT8, Number);
    const options = Object.entries(OWN).map(([name, value]) => `-c ${name}=${value}`);
    pool = new Pool({ connectionString: database.url, options: options.join(' '), max: 2 });
    host = await Host.on({ ...(source === 'a URL' ? { url: database.url } : { pool }), schema: SCHEMA });
  });
  afterAll(() => endPool(pool));

  it('should create plants in its schema, exactly and once, though the application rounds every bigint', async () => {
    const many = Array.from({ length: 5 }, (_, index) => LARGEST - BigInt(index));
    for (let sent = 0; sent < 2; sent++) await Promise.all(many.map((id) => host.expectCreated(id, 'key')));
    expect(await host.create(LARGEST)).toMatchObject({ status: 409, body: { error: 40901 } });
    expect(await host.create(LARGEST, { name: 'Fern', key: 'key' })).toMatchObject({ body: { error: 40902 } });
    expect([await ids(), await ids('public.plants')]).toEqual([many.map(String).reverse(), []]);
  });

  it('should wait for the disk, leave the sessions as they were, and the pool open at the stop', async () => {
    await database.query(`
      CREATE FUNCTION check_plant() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF current_setting('synchronous_commit') <> 'on' THEN RAISE EXCEPTION ''; END IF; RETURN NEW; END $$;
      CREATE TRIGGER check_plant BEFORE INSERT ON ${TABLE} FOR EACH ROW EXECUTE FUNCTION check_plant()`);
    await host.expectCreated(1);
    await database.query('DROP FUNCTION check_plant CASCADE');
    await host.app.get(PlantsHealth, { strict: false }).check();
    await host.stop();
    const settings = Object.keys(OWN).map((name) => `current_setting('${name}') AS ${name}`);
    expect((await pool.query(`SELECT ${settings.join()}`)).rows).toEqual([OWN]);
    expect(pool.idleCount).toBe(pool.totalCount);
    const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    expect(await database.query(sessions)).toHaveLength(pool.totalCount);
  });
});

describe('a pool of a host', () => {
  // Long enough for a busy machine to create a plant.
  const timeout = 1500;
  let proxy: TcpProxy;
  let pool: pg.Pool;
  let host: Host;

  beforeAll(async () => {
    proxy = await TcpProxy.start(database.url);
    pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
    host = await Host.on({ pool, timeout });
  });
  beforeEach(() => host.expectCreated(1));
  afterEach(() => {
    proxy.restore();
  });
  afterAll(async () => {
    await host.stop();
    expect(pool.listenerCount('error')).toBe(0);
    await endPool(pool);
    await proxy.close();
  });

  it('should keep an application from starting if it cannot be reached', async () => {
    const nowhere = new pg.Pool({ host: '127.0.0.1', port: 1, password: 'secret' });
    await expect(Host.on({ pool: nowhere })).rejects.toThrow(
      /^cannot use schema public of the database of the host: (?!.*secret)/,
    );
  });

  it.each([
    [50300, 'before the transaction has begun'],
    [50301, 'while no connection is free'],
    [50400, 'under a statement that waits'],
  ])('should make creates fail with %d in time, and pass: a silence %s', async (error) => {
    const lock = error === 50400 ? await TableLock.take(database) : undefined;
    const busy = error === 50301 ? await pool.connect() : undefined;
    if (!lock) proxy.freeze();
    const start = performance.now();
    const create = host.create(2);
    await lock?.awaited();
    proxy.freeze();
    const message = expect.stringContaining(error === 50400 ? 'unknown' : 'Nothing was written') as unknown;
    expect(await create).toMatchObject({ status: Math.trunc(error / 100), body: { error, message } });
    expect(performance.now() - start).toBeLessThan(4 * timeout);

    proxy.restore();
    await lock?.release();
    busy?.release();
    await until(async () => (await host.create(3)).status === 200);
    expect(await ids('plants')).toEqual(['1', '3']);
  });

  it('should lose an idle connection without an end of the process', () => {
    expect(() => pool.emit('error', new Error('terminating connection'), {})).not.toThrow();
  });

  it('should not keep a create from its 200 if the answer to the commit is lost', async () => {
    // The zero ends the statement: others have this word in them.
    proxy.loseAnswerTo('COMMIT\0');
    await host.expectCreated(2);
    expect(await ids('plants')).toEqual(['1', '2']);
  });
});
