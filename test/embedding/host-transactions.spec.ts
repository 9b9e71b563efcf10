import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../src/database/generated/client.js';
import {
  type CreatePlantOptions,
  type HostTransaction,
  Migrator,
  PlantsModule,
  PlantsService,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { until } from '../support/until.js';

const SCHEMA = 'Green "house"';
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
/** Much longer than an answer takes on a slow machine: one create waits for as long as the host's transaction is open. */
const TIMEOUT = 8000;
const ROSE = { id: '1', name: 'Rose' };
const OAK = { id: '2', name: 'Oak' };

type Rows = Record<string, unknown>[];

/** What a host does in its transaction. */
type Work = (transaction: HostTransaction, run: (sql: string) => Promise<Rows>) => Promise<void>;

/** A host's way to its database. */
interface HostDriver {
  /** Commits, or rolls back if the work fails, and throws what it threw. */
  transact(work: Work): Promise<void>;
  close(): Promise<void>;
}

function overPg(url: string): HostDriver {
  const pool = new pg.Pool({ connectionString: url });
  return {
    async transact(work) {
      const client = await pool.connect();
      const run = async (sql: string): Promise<Rows> => (await client.query(sql)).rows as Rows;
      try {
        await run('BEGIN');
        await work(client, run);
        await run('COMMIT');
      } catch (error) {
        await run('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

function overPrisma(url: string): HostDriver {
  const prisma = new PrismaClient({ adapter: new PrismaPg(url) });
  // Longer than any test on a slow machine.
  const limits = { timeout: 60_000, maxWait: 60_000 };
  return {
    transact: (work) =>
      prisma.$transaction((transaction) => work(transaction, (sql) => transaction.$queryRawUnsafe<Rows>(sql)), limits),
    close: () => prisma.$disconnect(),
  };
}

/** Its QueryRunner is an object with `query()`. */
function overTypeOrm(url: string): HostDriver {
  const source = new DataSource({ type: 'postgres', url });
  const connected = source.initialize();
  return {
    async transact(work) {
      await connected;
      await source.transaction(({ queryRunner }) => {
        if (queryRunner === undefined) throw new Error('TypeORM gave no QueryRunner.');
        return work(queryRunner, (sql) => queryRunner.query(sql) as Promise<Rows>);
      });
    },
    close: () => source.destroy(),
  };
}

const HOST_DRIVERS = [
  ['pg', overPg],
  ['Prisma', overPrisma],
  ['TypeORM, as { query }', overTypeOrm],
] as const;

describe('a plant in a transaction of the host', () => {
  let database: TestDatabase;
  let host: Host;
  let plants: PlantsService;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
    await database.query('CREATE TABLE orders (plant_id bigint NOT NULL)');
    const options = { url: database.url, schema: SCHEMA, timeout: TIMEOUT };
    host = await Host.start({ imports: [PlantsModule.forRoot({ database: options, guards: 'none' })] });
    plants = host.app.get(PlantsService, { strict: false });
  });
  beforeEach(() => database.query(`TRUNCATE orders, ${TABLE}`));
  afterAll(async () => {
    await host.stop();
    await database.drop();
  });

  const stored = (columns = 'id, name'): Promise<unknown[]> =>
    database.query(`SELECT ${columns} FROM ${TABLE} ORDER BY id`);
  const orders = (): Promise<unknown[]> => database.query('SELECT plant_id FROM orders');
  /** What a create is rejected with. */
  const refusal = (id: bigint, options: CreatePlantOptions, name = 'Rose'): Promise<unknown> =>
    plants.create({ id, name }, options).then(
      () => undefined,
      (reason: unknown) => reason,
    );

  async function post(id: number, key?: string): Promise<unknown> {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    const { status, body } = await host.send('POST', '/plants', `{"id":${id},"name":"Rose"}`, headers);
    return body.error ?? status;
  }

  describe.each(HOST_DRIVERS)('through %s', (_, open) => {
    let driver: HostDriver;

    beforeEach(() => {
      driver = open(database.url);
    });
    afterEach(() => driver.close());

    it('should be there when that commits, and not before, exactly as it is', async () => {
      const id = 2n ** 63n - 1n;
      const [name, tag] = [`'"\\;-- {a,b} 🌹`, '{"a":[1]}'];
      await driver.transact(async (transaction, run) => {
        const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
        expect(await plants.create({ id, name, tag }, options)).toEqual({ name, tag });
        await run(`INSERT INTO orders (plant_id) VALUES (${id})`);
        expect(await stored()).toEqual([]);
      });
      expect(await stored('id, name, tag, idempotency_key, created_by')).toEqual([
        { id: String(id), name, tag, idempotency_key: 'key', created_by: 'import' },
      ]);
      expect(await orders()).toEqual([{ plant_id: String(id) }]);
    });

    it('should not be there when that rolls back', async () => {
      const failure = new Error('the order was refused');
      const work = driver.transact(async (transaction) => {
        await plants.create({ id: 1n, name: 'Rose' }, { transaction });
        throw failure;
      });
      await expect(work).rejects.toBe(failure);
      expect(await stored()).toEqual([]);
      expect(await post(1)).toBe(200);
    });

    it('should be refused if its id is taken, and let the transaction go on', async () => {
      await plants.create({ id: 1n, name: 'Rose' }, { idempotencyKey: 'key' });
      await driver.transact(async (transaction, run) => {
        await plants.create({ id: 2n, name: 'Oak' }, { transaction, idempotencyKey: 'key' });
        for (const id of [1n, 2n]) {
          expect(await refusal(id, { transaction })).toMatchObject({ error: 40901 });
          expect(await refusal(id, { transaction, idempotencyKey: 'key' }, 'Fir')).toMatchObject({ error: 40902 });
        }
        const options = { transaction, idempotencyKey: 'key' };
        expect(await plants.create({ id: 1n, name: 'Rose' }, options)).toEqual({ name: 'Rose' });
        expect(await plants.create({ id: 2n, name: 'Oak' }, options)).toEqual({ name: 'Oak' });
        await run('INSERT INTO orders (plant_id) VALUES (2)');
      });
      expect(await stored()).toEqual([ROSE, OAK]);
      expect(await orders()).toEqual([{ plant_id: '2' }]);
    });

    it('should change no setting of it', async () => {
      const settings = `SELECT current_setting('synchronous_commit') AS sync, current_setting('lock_timeout') AS lock,
        current_setting('statement_timeout') AS statement`;
      await driver.transact(async (transaction, run) => {
        await run('SET LOCAL synchronous_commit = off');
        const before = await run(settings);
        await plants.create({ id: 1n, name: 'Rose' }, { transaction });
        expect(await run(settings)).toEqual(before);
      });
      expect(await stored()).toEqual([ROSE]);
    });
  });

  it.each([
    ['ROLLBACK', 200, 40901],
    ['COMMIT', 40901, 200],
  ])('should hold up a create of its id over HTTP until %s, and no neighbours', async (end, waited, repeated) => {
    const other = new pg.Client(database.url);
    await other.connect();
    await other.query('BEGIN');
    await plants.create({ id: 1n, name: 'Rose' }, { transaction: other, idempotencyKey: 'key' });
    const [first, ...neighbours] = [1, 2, 3, 4, 5].map((id) => post(id));
    expect(await Promise.all(neighbours)).toEqual([200, 200, 200, 200]);
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'`;
    await until(async () => (await database.query(waiting)).length === 1);
    await other.query(end);
    await other.end();
    expect(await first).toBe(waited);
    expect(await post(1, 'key')).toBe(repeated);
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'is undefined, should be a client of pg after BEGIN'],
    ['a promise', Promise.resolve(), 'is a promise, should be a client of pg after BEGIN'],
    ['a pool', new pg.Pool(), 'is a pool, should be a client of pg after BEGIN'],
    ['a function', () => [], '{ query(sql, values) } that runs in your transaction, or be left out'],
  ])('should be refused with what is no transaction: %s', async (_, transaction, message) => {
    const failure = await refusal(1n, { transaction: transaction as HostTransaction });
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as Error).message).toContain(message);
    expect(await stored()).toEqual([]);
  });
});
