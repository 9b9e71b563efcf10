import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../src/prisma/generated/client.js';
import { type HostTransaction, Migrator, PlantsHealth, PlantsModule, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';
import { until } from '../support/until.js';

const SCHEMA = 'Green "house"';
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
/** Much longer than an answer takes on a slow machine: one create waits for as long as the host's transaction is open. */
const TIMEOUT = 8000;
const ROSE = { id: 1n, name: 'Rose' };

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
    await client.end();
  }
}

async function overPrisma(url: string, work: Work): Promise<void> {
  const prisma = new PrismaClient({ adapter: new PrismaPg(url) });
  // Longer than any test on a slow machine.
  const limits = { timeout: 60_000, maxWait: 60_000 };
  await prisma
    .$transaction((client) => work(client, (sql) => client.$queryRawUnsafe<Rows>(sql)), limits)
    .finally(() => prisma.$disconnect());
}

/** Its QueryRunner is an object with `query()`. */
async function overTypeOrm(url: string, work: Work): Promise<void> {
  const source = await new DataSource({ type: 'postgres', url }).initialize();
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await work(runner, (sql) => runner.query(sql) as Promise<Rows>);
  await runner.commitTransaction();
  await source.destroy();
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
  await database.query('CREATE TABLE orders (plant_id bigint NOT NULL)');
});
beforeEach(() => database.query(`TRUNCATE orders, plants, ${TABLE}`));
afterAll(() => database.drop());

const stored = (columns: string, table = TABLE): Promise<unknown[]> =>
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

  it.each([
    ['pg', overPg],
    ['Prisma', overPrisma],
    ['TypeORM, as { query }', overTypeOrm],
  ])(
    'should be there exactly when that commits, and change neither a setting nor its fate: %s',
    async (_, transact) => {
      await plants.create(ROSE);
      const id = 2n ** 63n - 1n;
      const [name, tag] = [`'"\\;-- {a,b} 🌹`, '{"a":[1]}'];
      const settings = `SELECT current_setting('synchronous_commit') AS sync, current_setting('lock_timeout') AS lock,
      current_setting('statement_timeout') AS statement`;
      await transact(database.url, async (transaction, run) => {
        await run('SET LOCAL synchronous_commit = off');
        const before = await run(settings);
        const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
        for (let sent = 0; sent < 2; sent++)
          expect(await plants.create({ id, name, tag }, options)).toEqual({ name, tag });
        await expect(plants.create({ id, name }, options)).rejects.toMatchObject({ error: 40902 });
        await expect(plants.create(ROSE, options)).rejects.toMatchObject({ error: 40901 });
        expect(await run(settings)).toEqual(before);
        await run(`INSERT INTO orders (plant_id) VALUES (${id})`);
        expect(await stored('id::int')).toEqual([{ id: 1 }]);
      });
      const plant = { id: String(id), name, tag, idempotency_key: 'key', created_by: 'import' };
      expect((await stored('id, name, tag, idempotency_key, created_by'))[1]).toEqual(plant);
      expect(await database.query('SELECT plant_id FROM orders')).toEqual([{ plant_id: String(id) }]);
    },
  );

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

  it('should run in the session of its request, so that each plant has the tenant of its own', async () => {
    await database.query(`
      CREATE TABLE audit (plant_id bigint, tenant text);
      CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO audit VALUES (NEW.id, current_setting('app.tenant')); RETURN NEW; END $$;
      CREATE TRIGGER audit BEFORE INSERT ON ${TABLE} FOR EACH ROW EXECUTE FUNCTION audit()`);
    const tenants = ['ada', 'bob', 'cy', 'dan'];
    const createAs = (tenant: string, at: number): Promise<void> =>
      overPg(database.url, async (transaction, run) => {
        await run(`SET LOCAL app.tenant = ${tenant}`);
        await plants.create({ id: BigInt(at), name: 'Rose' }, { transaction });
      });
    await Promise.all(tenants.map(createAs));
    const audited = await database.query('SELECT tenant FROM audit ORDER BY plant_id');
    expect(audited).toEqual(tenants.map((tenant) => ({ tenant })));
    await database.query('DROP FUNCTION audit CASCADE');
  });

  it.each<[string, unknown]>([
    // It may stand for a transaction that rolls back.
    ['undefined', undefined],
    ['a promise', Promise.resolve()],
    ['a pool', new pg.Pool()],
    ["Prisma's client itself", new PrismaClient({ adapter: new PrismaPg('postgresql://nobody@127.0.0.1:1/none') })],
  ])('should be refused with what is no transaction: %s', async (what, transaction) => {
    const create = plants.create(ROSE, { transaction: transaction as HostTransaction });
    await expect(create).rejects.toThrow(`transaction: is ${what}, should be a client of pg after BEGIN`);
    expect(await stored('id')).toEqual([]);
  });
});

describe('a store in an application without HTTP', () => {
  it('should be one for all modules that import it or a wrapper of it, and close twice', async () => {
    @Injectable()
    class Nursery {
      constructor(readonly plants: PlantsService) {}
    }
    const store = PlantsModule.forRoot({ database: { url: database.url, schema: SCHEMA }, ...guardedBy(TOKEN) });
    @Module({ imports: [store], exports: [PlantsModule] })
    class WrapperModule {}
    @Module({ imports: [WrapperModule], providers: [Nursery] })
    class GardenModule {}
    @Module({ imports: [GardenModule, store], providers: [Nursery] })
    class HostModule {}
    const context = await NestFactory.createApplicationContext(HostModule, { logger: false });
    const { plants } = context.select(HostModule).get(Nursery);
    expect(context.select(GardenModule).get(Nursery).plants).toBe(plants);
    expect(await plants.create(ROSE)).toEqual({ name: 'Rose' });
    expect([await stored('name'), await stored('name', 'public.plants')]).toEqual([[{ name: 'Rose' }], []]);
    await Promise.all([context.close(), context.close()]);
    await context.close();
  });
});

describe('a test of a host, without its database', () => {
  it('should give plants to the service of the test, behind the checks of production', async () => {
    const created: object[] = [];
    const create = (plant: object): Promise<object> => Promise.resolve({ number: created.push(plant) });
    // Nothing listens there.
    const nowhere = { url: 'postgresql://gardener@127.0.0.1:1/plants' };
    const imports = [PlantsModule.forRoot({ database: nowhere, ...guardedBy(TOKEN) })];
    const testing = Test.createTestingModule({ imports }).overrideProvider(PlantsService).useValue({ create });
    const app = (await testing.compile()).createNestApplication({ rawBody: true });
    await app.listen(0, '127.0.0.1');

    for (const [token, body, answer] of [
      ['wrong', '{}', { error: 40101 }],
      [TOKEN, '{"id": 1}', { error: 40003 }],
      [TOKEN, '{"id": 9007199254740993, "name": "Rose"}', { number: 1 }],
    ] as const) {
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
      const response = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body });
      expect(await response.json()).toMatchObject(answer);
    }
    expect(created).toMatchObject([{ id: 9007199254740993n, name: 'Rose' }]);
    await expect(app.get(PlantsHealth, { strict: false }).check()).rejects.toThrow('cannot be reached');
    await app.close();
  });
});
