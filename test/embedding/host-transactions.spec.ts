import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CanActivate, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import {
  type CreatePlantOptions,
  type HostTransaction,
  Migrator,
  PlantsModule,
  PlantsService,
} from '../../src/index.js';
import { PlantsMetrics } from '../../src/plants/plants.metrics.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { HOST_DRIVERS, type HostDriver, PrismaService } from '../support/host/host-drivers.js';
import { Nursery } from '../support/host/outbox-host.js';
import { rejectionOf } from '../support/rejection.js';
import { until } from '../support/until.js';

const SCHEMA = 'Green "house"';
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
/** Much longer than an answer takes on a slow machine: one create waits for as long as the host's transaction is open. */
const TIMEOUT = 8000;

class OpenGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

describe('a plant in a transaction of the host', () => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let plants: PlantsService;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
    await database.query(`
      CREATE TABLE orders (id serial PRIMARY KEY, plant_id bigint NOT NULL);
      CREATE TABLE outbox (id bigserial PRIMARY KEY, plant_id bigint NOT NULL)`);
    const prisma = {
      provide: PrismaService,
      useFactory: () => new PrismaService({ adapter: new PrismaPg(database.url) }),
    };
    const store = PlantsModule.forRoot({
      database: { url: database.url, schema: SCHEMA, timeout: TIMEOUT },
      guards: [OpenGuard],
    });
    @Module({ imports: [store], providers: [Nursery, prisma] })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { bodyParser: false, logger: false });
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/plants`;
    plants = app.get(PlantsService, { strict: false });
  });
  beforeEach(async () => {
    await database.query(`TRUNCATE orders, outbox, ${TABLE}`);
  });
  afterAll(async () => {
    await app.get(PrismaService).$disconnect();
    await app.close();
    await database.drop();
  });

  const stored = (columns = 'id, name'): Promise<unknown[]> =>
    database.query(`SELECT ${columns} FROM ${TABLE} ORDER BY id`);
  const orders = async (): Promise<unknown[]> =>
    (await database.query('SELECT plant_id FROM orders ORDER BY id')).map(({ plant_id: id }) => id);

  /** What a create is rejected with. */
  const refusal = (id: bigint, options: CreatePlantOptions, name = 'Rose'): Promise<unknown> =>
    rejectionOf(plants.create({ id, name }, options));

  async function post(id: number, key?: string): Promise<[status: number, error?: number]> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(key !== undefined && { 'Idempotency-Key': key }) },
      body: `{"id":${id},"name":"Rose"}`,
    });
    const { error } = (await response.json()) as { error?: number };
    return error === undefined ? [response.status] : [response.status, error];
  }

  /** Resolves when as many sessions wait for the transaction of another. */
  const waiting = (sessions: number): Promise<void> =>
    until(async () => {
      const waits = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'`,
      );
      return waits.length === sessions;
    });

  describe.each(HOST_DRIVERS)('through %s', (_, open) => {
    let host: HostDriver;

    beforeEach(() => {
      host = open(database.url);
    });
    afterEach(() => host.close());

    it('should be there when that commits, not before, and not be counted', async () => {
      const { created } = app.get(PlantsMetrics, { strict: false });
      await host.transact(async (transaction, run) => {
        const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
        const answer = await plants.create({ id: 1n, name: 'Rose', tag: 'flower' }, options);
        expect(answer).toEqual({ name: 'Rose', tag: 'flower' });
        await run('INSERT INTO orders (plant_id) VALUES (1)');
        expect(await stored()).toEqual([]);
      });
      expect(await stored('id, name, tag, idempotency_key, created_by')).toEqual([
        { id: '1', name: 'Rose', tag: 'flower', idempotency_key: 'key', created_by: 'import' },
      ]);
      expect(await orders()).toEqual(['1']);
      expect(app.get(PlantsMetrics, { strict: false })).toMatchObject({ created });
    });

    it('should not be there when that rolls back', async () => {
      const failure = new Error('the order was refused');
      const work = host.transact(async (transaction) => {
        await plants.create({ id: 1n, name: 'Rose' }, { transaction });
        throw failure;
      });
      expect(await rejectionOf(work)).toBe(failure);
      expect(await stored()).toEqual([]);
      expect(await post(1)).toEqual([200]);
    });

    it('should be stored exactly as it is', async () => {
      const texts = [
        '',
        '7',
        'null',
        '{"a":[1]}',
        '2026-01-01T00:00:00Z',
        '{a,b}',
        `'"\\;--`,
        '🌹',
        'x'.repeat(100_000),
      ];
      const ids = [-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n];
      await host.transact(async (transaction) => {
        for (const id of ids) await plants.create({ id, name: 'Rose' }, { transaction });
        for (const [i, text] of texts.entries()) {
          const given = [
            { id: 100n + BigInt(i), name: text, tag: text },
            { transaction, idempotencyKey: 'k' },
          ] as const;
          expect(await plants.create(...given)).toEqual({ name: text, tag: text });
          expect(await plants.create(...given)).toEqual({ name: text, tag: text });
        }
      });
      expect((await stored('id')).length).toBe(ids.length + texts.length);
      expect(await database.query(`SELECT name, tag FROM ${TABLE} WHERE id BETWEEN 100 AND 200 ORDER BY id`)).toEqual(
        texts.map((text) => ({ name: text, tag: text })),
      );
      expect(await database.query(`SELECT id FROM ${TABLE} WHERE name = 'Rose' ORDER BY id`)).toEqual(
        ids.map((id) => ({ id: String(id) })),
      );
    });

    it('should be refused if its id is taken, and leave the transaction as it was', async () => {
      await plants.create({ id: 1n, name: 'Rose' }, { idempotencyKey: 'key' });
      await host.transact(async (transaction, run) => {
        await plants.create({ id: 2n, name: 'Oak' }, { transaction, idempotencyKey: 'key' });
        for (const id of [1n, 2n]) {
          expect(await refusal(id, { transaction })).toMatchObject({ error: 40901 });
          expect(await refusal(id, { transaction, idempotencyKey: 'other' })).toMatchObject({ error: 40901 });
          expect(await refusal(id, { transaction, idempotencyKey: 'key' }, 'Fir')).toMatchObject({ error: 40902 });
        }
        const options = { transaction, idempotencyKey: 'key' };
        expect(await plants.create({ id: 1n, name: 'Rose' }, options)).toEqual({ name: 'Rose' });
        expect(await plants.create({ id: 2n, name: 'Oak' }, options)).toEqual({ name: 'Oak' });
        await plants.create({ id: 3n, name: 'Elm' }, { transaction });
        await run('INSERT INTO orders (plant_id) VALUES (3)');
      });
      expect(await stored()).toEqual([
        { id: '1', name: 'Rose' },
        { id: '2', name: 'Oak' },
        { id: '3', name: 'Elm' },
      ]);
      expect(await orders()).toEqual(['3']);
    });

    it('should change no setting, and fail as the driver fails', async () => {
      const settings = `SELECT current_setting('synchronous_commit') AS sync, current_setting('lock_timeout') AS lock,
        current_setting('statement_timeout') AS statement`;
      await host.transact(async (transaction, run) => {
        await run(`SET LOCAL synchronous_commit = off`);
        await run(`SET LOCAL lock_timeout = '20ms'`);
        const before = await run(settings);
        await plants.create({ id: 1n, name: 'Rose' }, { transaction });
        await refusal(1n, { transaction, idempotencyKey: 'key' });
        expect(await run(settings)).toEqual(before);

        await run('SAVEPOINT before_trouble');
        const insert = `INSERT INTO ${TABLE} (id, name) VALUES (2, 'Oak')`;
        await using other = await idleTransaction(insert);
        const mine = await refusal(2n, { transaction });
        await run('ROLLBACK TO SAVEPOINT before_trouble');
        const theirs = await rejectionOf(run(insert));
        await run('ROLLBACK TO SAVEPOINT before_trouble');
        expect((mine as Error).constructor).toBe((theirs as Error).constructor);
        expect((mine as Error).message).toContain('lock timeout');
        expect((theirs as Error).message).toContain('lock timeout');
        await other.client.query('ROLLBACK');
        await plants.create({ id: 2n, name: 'Oak' }, { transaction });
      });
      expect(await stored()).toEqual([
        { id: '1', name: 'Rose' },
        { id: '2', name: 'Oak' },
      ]);
    });
  });

  /** Another transaction of the host's, which is rolled back at the end if it is open. */
  async function idleTransaction(sql = 'SELECT', begin = 'BEGIN'): Promise<AsyncDisposable & { client: pg.Client }> {
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(begin);
    await client.query(sql);
    return { client, [Symbol.asyncDispose]: () => client.end() };
  }

  it.each([
    ['ROLLBACK', [200], [400, 40901]],
    ['COMMIT', [400, 40901], [200]],
  ])('should hold up a create of its id over HTTP until %s, and no neighbours', async (end, waited, repeated) => {
    await using host = await idleTransaction();
    await plants.create({ id: 1n, name: 'Rose' }, { transaction: host.client, idempotencyKey: 'key' });
    const [first, ...neighbours] = [1, 2, 3, 4, 5].map((id) => post(id));
    expect(await Promise.all(neighbours)).toEqual([[200], [200], [200], [200]]);
    await waiting(1);
    await host.client.query(end);
    expect(await first).toEqual(waited);
    expect(await post(1, 'key')).toEqual(repeated);
    expect((await stored()).length).toBe(5);
  });

  it('should wait for a create of its id, and be refused when that is committed', async () => {
    await using first = await idleTransaction();
    await using second = await idleTransaction();
    await plants.create({ id: 1n, name: 'Rose' }, { transaction: first.client, idempotencyKey: 'key' });
    const refused = refusal(1n, { transaction: second.client, idempotencyKey: 'key' }, 'Oak');
    await waiting(1);
    await first.client.query('COMMIT');
    expect(await refused).toMatchObject({ error: 40902 });
    await plants.create({ id: 2n, name: 'Oak' }, { transaction: second.client });
    await second.client.query('COMMIT');
    expect(await stored('id')).toEqual([{ id: '1' }, { id: '2' }]);
  });

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])('should fail with 40001 in %s, as the host expects', async (level) => {
    await using host = await idleTransaction('SELECT count(*) FROM orders', `BEGIN ISOLATION LEVEL ${level}`);
    expect(await post(1, 'key')).toEqual([200]);
    const failure = await refusal(1n, { transaction: host.client, idempotencyKey: 'key' });
    expect(failure).toBeInstanceOf(pg.DatabaseError);
    expect(failure).toMatchObject({ code: '40001' });
    await host.client.query('ROLLBACK');
  });

  it('should fail with the error of the driver if the connection is lost', async () => {
    const host = await idleTransaction();
    host.client.on('error', () => undefined);
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'
       AND datname = current_database()`,
    );
    const failure = await refusal(1n, { transaction: host.client });
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toHaveProperty('error');
    expect(await stored()).toEqual([]);
  });

  describe('with what is no transaction', () => {
    let pool: pg.Pool;
    let prisma: PrismaService;
    const open = (): Promise<unknown> => Promise.resolve([]);

    beforeAll(() => {
      pool = new pg.Pool({ connectionString: database.url });
      prisma = app.get(PrismaService);
    });
    afterAll(async () => {
      await pool.end();
    });

    it.each<[string, () => unknown, string]>([
      ['undefined', () => undefined, 'is undefined, should be a client of pg after BEGIN'],
      ['a promise', () => Promise.resolve(), 'is a promise, should be a client of pg after BEGIN'],
      ['a pool', () => pool, 'is a pool, should be the client that pool.connect() gave and that has sent BEGIN'],
      ["Knex's, postgres.js's", () => open, '{ query(sql, values) } that runs in your transaction, or be left out'],
    ])('should be refused: %s', async (_, given, message) => {
      const failure = await refusal(1n, { transaction: given() as HostTransaction });
      expect(failure).toBeInstanceOf(TypeError);
      expect((failure as Error).message).toMatch(/^transaction: is /);
      expect((failure as Error).message).toContain(message);
      expect(await stored()).toEqual([]);
    });

    it('should be refused by TypeScript', () => {
      // @ts-expect-error a pool is in no transaction
      const transactions: HostTransaction[] = [pool];
      // @ts-expect-error Prisma's client is in no transaction
      transactions.push(prisma);
      expect(transactions).toHaveLength(2);
    });

    it('should go through an object of the host with query()', async () => {
      await using host = await idleTransaction();
      const query = (sql: string, values: unknown[]): Promise<unknown> => host.client.query(sql, values);
      await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
      expect(await stored()).toEqual([]);
      await host.client.query('COMMIT');
      expect(await stored('id')).toEqual([{ id: '1' }]);
    });

    it('should go through a Prisma client with extensions, and a nested transaction', async () => {
      const extended = prisma.$extends({ name: 'none' });
      await extended.$transaction(async (transaction) => {
        await plants.create({ id: 1n, name: 'Rose' }, { transaction });
      });
      await prisma.$transaction(async (outer) => {
        await plants.create({ id: 2n, name: 'Oak' }, { transaction: outer });
        const nested = outer.$transaction(async (transaction) => {
          await plants.create({ id: 3n, name: 'Elm' }, { transaction });
          throw new Error('rolled back');
        });
        await expect(nested).rejects.toThrow('rolled back');
      });
      expect(await stored('id')).toEqual([{ id: '1' }, { id: '2' }]);
    });
  });

  describe('with an outbox', () => {
    const outbox = async (): Promise<unknown[]> =>
      (await database.query('SELECT plant_id FROM outbox ORDER BY id')).map(({ plant_id: id }) => id);

    it('should have its event if it is there, and be delivered when the broker takes it', async () => {
      const nursery = app.get(Nursery);
      await nursery.sow({ id: 1n, name: 'Rose' });
      expect(await rejectionOf(nursery.sow({ id: 1n, name: 'Oak' }))).toMatchObject({ error: 40901 });
      await nursery.sow({ id: 2n, name: 'Elm' });
      expect(await outbox()).toEqual(['1', '2']);

      const published: bigint[] = [];
      const refusing = nursery.deliver((id) => {
        published.push(id);
        return published.length === 2 ? Promise.reject(new Error('the broker is away')) : Promise.resolve();
      });
      await expect(refusing).rejects.toThrow('the broker is away');
      expect(await outbox()).toEqual(['2']);
      await nursery.deliver((id) => Promise.resolve(void published.push(id)));
      expect(published).toEqual([1n, 2n, 2n]);
      expect(await outbox()).toEqual([]);
    });
  });
});
