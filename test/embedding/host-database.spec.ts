import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../src/database/generated/client.js';
import { type ApiError, type HostTransaction, Migrator, PlantsHealth, PlantsService } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';

const SCHEMA = `Green "house's`;
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
const LARGEST = 9223372036854775807n;
const ROSE = { id: 1n, name: 'Rose' };
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
  let proxy: TcpProxy;
  let pool: pg.Pool;
  let host: Host;

  beforeAll(async () => {
    proxy = await TcpProxy.start(database.url);
    pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
    // Long enough for a busy machine to create a plant.
    host = await Host.on({ pool, timeout: 1500 });
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

  it('should make creates fail with 50301 in time while no connection is free, and pass', async () => {
    const busy = await pool.connect();
    const message = expect.stringContaining('Nothing was written') as unknown;
    expect(await host.create(2)).toMatchObject({ status: 503, body: { error: 50301, message } });
    busy.release();
    await host.expectCreated(2);
    expect(await ids('plants')).toEqual(['1', '2']);
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

describe(PlantsService.name, () => {
  let host: Host;
  let plants: PlantsService;
  beforeAll(async () => {
    host = await Host.on({ url: database.url, schema: SCHEMA });
    plants = host.app.get(PlantsService, { strict: false });
  });
  afterAll(() => host.stop());

  it('should create a plant in a transaction of the host, and change neither its settings nor its fate', async () => {
    expect(Object.keys(await plants.create(ROSE))).toEqual(['name']);
    const id = LARGEST;
    const [name, tag] = [`'"\\;-- {a,b} 🌹`, '{"a":[1]}'];
    const settings = `SELECT name, setting FROM pg_settings
      WHERE name IN ('synchronous_commit', 'statement_timeout', 'lock_timeout')`;
    const transaction = new pg.Client(database.url);
    await transaction.connect();
    await transaction.query('BEGIN; SET LOCAL synchronous_commit = off');
    const before = (await transaction.query(settings)).rows;
    const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
    for (let sent = 0; sent < 2; sent++) expect(await plants.create({ id, name, tag }, options)).toEqual({ name, tag });
    await expect(plants.create({ id, name }, options)).rejects.toMatchObject({ error: 40902 });
    await expect(plants.create(ROSE, options)).rejects.toMatchObject({ error: 40901 });
    expect((await transaction.query(settings)).rows).toEqual(before);
    expect(await ids()).toEqual(['1']);
    await transaction.query('COMMIT');
    await transaction.end();
    expect(await ids()).toEqual(['1', String(id)]);
    const [stored] = await database.query(`SELECT name, tag, idempotency_key, created_by FROM ${TABLE} WHERE id > 1`);
    expect(stored).toEqual({ name, tag, idempotency_key: 'key', created_by: 'import' });
  });

  it.each<[string, unknown]>([
    // It may stand for a transaction that rolls back.
    ['undefined', undefined],
    ['a promise', Promise.resolve()],
    ['a pool', new pg.Pool()],
    ["Prisma's client itself", new PrismaClient({ adapter: new PrismaPg('postgresql://nobody@127.0.0.1:1/none') })],
  ])('should refuse what is no transaction: %s', async (what, transaction) => {
    const create = plants.create(ROSE, { transaction: transaction as HostTransaction });
    await expect(create).rejects.toThrow(`transaction: is ${what}, should be a client of pg after BEGIN`);
    expect(await ids()).toEqual([]);
  });

  const failureOf = async (plant: unknown, options = {}): Promise<ApiError> => {
    const failure: unknown = await plants.create(plant as never, options).catch((error: unknown) => error);
    expect(await ids()).toEqual([]);
    return failure as ApiError;
  };

  it('should refuse a plant with all that is wrong with it', async () => {
    const { error, message } = await failureOf({ id: 5, name: 7n, tag: null });
    const ofId = 'id is the number 5, which may have been rounded; it must be a bigint, such as 1n';
    const others = 'name is 7; it must be a string. tag is null; it must be a string, or leave it out';
    expect([error, message]).toEqual([40003, `This is not a plant: ${ofId}. ${others}.`]);
  });

  it('should keep an idempotency key for the creator that gave it, and nobody is one too', async () => {
    const [nobody, creator] = [{ idempotencyKey: 'key' }, { idempotencyKey: 'key', creator: { name: 'import' } }];
    for (const [first, other] of [
      [nobody, creator],
      [creator, nobody],
    ] as const) {
      await database.query(`TRUNCATE ${TABLE}`);
      for (let sent = 0; sent < 2; sent++) expect(await plants.create(ROSE, first)).toEqual({ name: 'Rose' });
      await expect(plants.create(ROSE, other)).rejects.toMatchObject({ error: 40901 });
    }
  });

  it('should refuse a key or a creator that cannot be stored', async () => {
    expect(await failureOf(ROSE, { idempotencyKey: '\0' })).toMatchObject({ error: 40004 });
    const named = ['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name) => ({ name }));
    const message = expect.stringMatching(/^creator: its name .*, should be \{ name \} with 1 to 255 characters/);
    for (const creator of [...named, 'import', null])
      expect(await failureOf(ROSE, { creator })).toMatchObject({ name: TypeError.name, message });
  });
});
