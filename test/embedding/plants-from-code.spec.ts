import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../src/database/generated/client.js';
import {
  exemptPlantsFromBodyParser,
  type HostTransaction,
  Migrator,
  type NewPlant,
  PlantsHealth,
  PlantsModule,
  PlantsService,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';
import { until } from '../support/until.js';

const SCHEMA = 'Green "house"';
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
/** Much longer than an answer takes on a slow machine: one create waits for as long as the host's transaction is open. */
const TIMEOUT = 8000;
const ROSE = { id: 1n, name: 'Rose' };
const OAK = { id: 2n, name: 'Oak' };

type Rows = Record<string, unknown>[];
/** What a host does in its transaction. */
type Work = (transaction: HostTransaction, run: (sql: string) => Promise<Rows>) => Promise<void>;

async function overPg(url: string, work: Work): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('BEGIN');
    await work(client, async (sql) => (await client.query(sql)).rows as Rows);
    await client.query('COMMIT');
  } finally {
    // Rolls back what is not committed.
    await client.end();
  }
}

async function overPrisma(url: string, work: Work): Promise<void> {
  const prisma = new PrismaClient({ adapter: new PrismaPg(url) });
  // Longer than any test on a slow machine.
  const limits = { timeout: 60_000, maxWait: 60_000 };
  await prisma
    .$transaction((transaction) => work(transaction, (sql) => transaction.$queryRawUnsafe<Rows>(sql)), limits)
    .finally(() => prisma.$disconnect());
}

/** Its QueryRunner is an object with `query()`. */
async function overTypeOrm(url: string, work: Work): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url }).initialize();
  await source
    .transaction(async ({ queryRunner }) => {
      if (queryRunner === undefined) throw new Error('TypeORM gave no QueryRunner.');
      await work(queryRunner, (sql) => queryRunner.query(sql) as Promise<Rows>);
    })
    .finally(() => source.destroy());
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
  await database.query('CREATE TABLE orders (plant_id bigint NOT NULL)');
});
beforeEach(() => database.query(`TRUNCATE orders, plants, ${TABLE}`));
afterAll(() => database.drop());

const stored = (columns = 'id, name', table = TABLE): Promise<unknown[]> =>
  database.query(`SELECT ${columns} FROM ${table} ORDER BY id`);

describe('a plant in a transaction of the host', () => {
  let host: Host;
  let plants: PlantsService;

  beforeAll(async () => {
    host = await Host.on({ url: database.url, schema: SCHEMA, timeout: TIMEOUT });
    plants = host.app.get(PlantsService, { strict: false });
  });
  afterAll(() => host.stop());

  const post = async (id: number, key?: string): Promise<unknown> => {
    const { status, body } = await host.create(id, { key });
    return body.error ?? status;
  };

  describe.each([
    ['pg', overPg],
    ['Prisma', overPrisma],
    ['TypeORM, as { query }', overTypeOrm],
  ])('through %s', (_, transact) => {
    it('should be there when that commits, and not before, exactly as it is, and change no setting of it', async () => {
      const id = 2n ** 63n - 1n;
      const [name, tag] = [`'"\\;-- {a,b} 🌹`, '{"a":[1]}'];
      const settings = `SELECT current_setting('synchronous_commit') AS sync, current_setting('lock_timeout') AS lock,
        current_setting('statement_timeout') AS statement`;
      await transact(database.url, async (transaction, run) => {
        await run('SET LOCAL synchronous_commit = off');
        const before = await run(settings);
        const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
        expect(await plants.create({ id, name, tag }, options)).toEqual({ name, tag });
        expect(await run(settings)).toEqual(before);
        await run(`INSERT INTO orders (plant_id) VALUES (${id})`);
        expect(await stored()).toEqual([]);
      });
      expect(await stored('id, name, tag, idempotency_key, created_by')).toEqual([
        { id: String(id), name, tag, idempotency_key: 'key', created_by: 'import' },
      ]);
      expect(await database.query('SELECT plant_id FROM orders')).toEqual([{ plant_id: String(id) }]);
    });

    it('should not be there when that rolls back', async () => {
      const failure = new Error('the order was refused');
      const work = transact(database.url, async (transaction) => {
        await plants.create(ROSE, { transaction });
        throw failure;
      });
      await expect(work).rejects.toBe(failure);
      expect(await stored()).toEqual([]);
      expect(await post(1)).toBe(200);
    });

    it('should be refused if its id is taken, and let the transaction go on', async () => {
      await plants.create(ROSE, { idempotencyKey: 'key' });
      await transact(database.url, async (transaction, run) => {
        const options = { transaction, idempotencyKey: 'key' };
        await plants.create(OAK, options);
        for (const plant of [ROSE, OAK]) {
          const other = { ...plant, name: 'Fir' };
          await expect(plants.create(plant, { transaction })).rejects.toMatchObject({ error: 40901 });
          await expect(plants.create(other, options)).rejects.toMatchObject({ error: 40902 });
          expect(await plants.create(plant, options)).toEqual({ name: plant.name });
        }
        await run('INSERT INTO orders (plant_id) VALUES (2)');
      });
      expect(await stored()).toMatchObject([{ name: 'Rose' }, { name: 'Oak' }]);
      expect(await database.query('SELECT FROM orders')).toHaveLength(1);
    });
  });

  it.each([
    ['ROLLBACK', 200, 40901],
    ['COMMIT', 40901, 200],
  ])('should hold up a create of its id over HTTP until %s, and no neighbours', async (end, waited, repeated) => {
    const other = new pg.Client(database.url);
    await other.connect();
    await other.query('BEGIN');
    await plants.create(ROSE, { transaction: other, idempotencyKey: 'key' });
    const [first, ...neighbours] = [1, 2, 3, 4, 5].map((id) => post(id));
    expect(await Promise.all(neighbours)).toEqual([200, 200, 200, 200]);
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'`;
    await until(async () => (await database.query(waiting)).length === 1);
    await other.query(end);
    await other.end();
    expect(await first).toBe(waited);
    expect(await post(1, 'key')).toBe(repeated);
  });

  it.each<[string, unknown]>([
    // It may stand for a transaction that rolls back.
    ['undefined', undefined],
    ['a promise', Promise.resolve()],
    ['a pool', new pg.Pool()],
  ])('should be refused with what is no transaction: %s', async (what, transaction) => {
    const create = plants.create(ROSE, { transaction: transaction as HostTransaction });
    await expect(create).rejects.toThrow(`transaction: is ${what}, should be a client of pg after BEGIN`);
    expect(await stored()).toEqual([]);
  });
});

/** Code of a host's that creates plants by itself. */
@Injectable()
class Nursery {
  constructor(
    readonly plants: PlantsService,
    readonly health: PlantsHealth,
  ) {}
}

describe('a store in an application without HTTP', () => {
  it('should be one for all modules that import it or a wrapper of it, and close twice', async () => {
    const storeIn = (schema: string) =>
      PlantsModule.forRoot({ database: { url: database.url, schema }, ...guardedBy(TOKEN) });
    const store = storeIn(SCHEMA);
    @Module({ imports: [store], exports: [PlantsModule] })
    class WrapperModule {}
    @Module({ imports: [WrapperModule], providers: [Nursery] })
    class NurseryModule {}
    @Module({ imports: [store], providers: [Nursery] })
    class ForestModule {}
    @Module({ imports: [NurseryModule, ForestModule, storeIn('public')] })
    class HostModule {}
    const context = await NestFactory.createApplicationContext(HostModule, { logger: false });
    const [nursery, forest] = [NurseryModule, ForestModule].map((module) => context.select(module).get(Nursery));
    expect(nursery?.plants).toBe(forest?.plants);
    await nursery?.health.check();
    expect(await nursery?.plants.create(ROSE)).toEqual({ name: 'Rose' });
    await expect(forest?.plants.create(ROSE)).rejects.toMatchObject({ error: 40901 });
    expect([await stored('name'), await stored('name', 'public.plants')]).toEqual([[{ name: 'Rose' }], []]);
    await Promise.all([context.close(), context.close()]);
    await context.close();
  });
});

describe('a test of a host, without its database', () => {
  it('should give plants to the service of the test, behind the checks of production', async () => {
    const created: NewPlant[] = [];
    const create = (plant: NewPlant): Promise<object> => {
      created.push(plant);
      return Promise.resolve({ name: plant.name });
    };
    // Nothing listens there.
    const nowhere = { url: 'postgresql://gardener@127.0.0.1:1/plants' };
    const imports = [PlantsModule.forRoot({ database: nowhere, ...guardedBy(TOKEN) })];
    const testing = Test.createTestingModule({ imports }).overrideProvider(PlantsService).useValue({ create });
    const app = (await testing.compile()).createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');

    const answers: unknown[] = [];
    for (const [token, body] of [
      ['wrong', '{}'],
      [TOKEN, '{"id": 1}'],
      [TOKEN, '{"id": 9007199254740993, "name": "Rose"}'],
    ] as const) {
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
      answers.push(await (await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body })).json());
    }
    expect(answers).toMatchObject([{ error: 40101 }, { error: 40003 }, { name: 'Rose' }]);
    expect(created).toMatchObject([{ id: 9007199254740993n, name: 'Rose' }]);
    await expect(app.get(PlantsHealth, { strict: false }).check()).rejects.toThrow('cannot be reached');
    await app.close();
  });
});
