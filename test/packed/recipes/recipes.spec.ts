import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterPrisma } from '@nestjs-cls/transactional-adapter-prisma';
import { Controller, Get, Injectable, Module, NotFoundException, Param, Post } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { HealthCheck, HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import { ClsModule } from 'nestjs-cls';
import pg from 'pg';
import * as store from 'plant-store';
import { type NewPlant, PlantsAuthModule, PlantsHealth, PlantsModule, PlantsService } from 'plant-store';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PrismaClient } from './generated/client.js';

const { DATABASE_URL } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });

@Injectable()
class SessionVerifier extends store.TokenVerifier {
  verify = async (token: string) => (token === 'of-ada' ? { name: 'ada', scopes: ['plants:create'] } : undefined);
}

@Module({
  providers: [{ provide: PrismaClient, useValue: prisma }, SessionVerifier],
  exports: [PrismaClient, SessionVerifier],
})
class SessionsModule {}

const auth = PlantsAuthModule.forRootAsync({
  imports: [SessionsModule],
  inject: [SessionVerifier],
  useFactory: (verifier: SessionVerifier) => ({ verifier }),
});

@Controller()
class HostController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly host: TransactionHost<TransactionalAdapterPrisma<PrismaClient>>,
    private readonly indicators: HealthIndicatorService,
    private readonly plants: PlantsService,
    private readonly plantsHealth: PlantsHealth,
    private readonly prisma: PrismaClient,
  ) {}

  @Get('health')
  @HealthCheck()
  check() {
    return this.health.check([() => this.indicators.check('plants').attempt(() => this.plantsHealth.check())]);
  }

  @Get('plants/:id')
  async find(@Param('id') id: string) {
    const isId = /^-?\d{1,19}$/.test(id) && BigInt.asIntN(64, BigInt(id)) === BigInt(id);
    const plant = isId && (await this.prisma.plant.findUnique({ where: { id: BigInt(id) } }));
    if (!plant) throw new NotFoundException();
    return { ...plant, id: String(plant.id) };
  }

  @Post('orders/:id')
  @Transactional()
  async order(@Param('id') id: string) {
    await this.plants.create({ id: BigInt(id), name: 'Rose' }, { transaction: this.host.tx });
    await this.host.tx.order.create({ data: { plantId: BigInt(id) } });
    return { id };
  }
}

const adapter = new TransactionalAdapterPrisma({ prismaInjectionToken: PrismaClient });
const plugins = [new ClsPluginTransactional({ imports: [SessionsModule], adapter })];
const database = { pool, schema: 'plants' };
const ofPool = PlantsModule.forRoot({ database, guards: [store.BearerAuthGuard], imports: [auth] });
const ofTypeOrm = PlantsModule.forRootAsync({
  inject: [DataSource],
  useFactory: ({ driver }: DataSource) => ({ database: { pool: (driver as PostgresDriver).master, schema: 'plants' } }),
  path: false,
});
const typeOrm = TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE_URL });
const kysely = new Kysely<{ orders: { plant_id: bigint } }>({ dialect: new PostgresDialect({ pool }) });

let app: NestExpressApplication;
let plants: PlantsService;
let lastId = 101n;

beforeAll(async () => {
  const { DATABASE_HOST, DATABASE_PORT, DATABASE_USER = '', DATABASE_PASSWORD, DATABASE_NAME = '' } = process.env;
  const [user, name] = [DATABASE_USER, DATABASE_NAME].map(encodeURIComponent);
  const url = `postgresql://${user}@${DATABASE_HOST}:${DATABASE_PORT}/${name}`;
  const database = { url, password: DATABASE_PASSWORD, schema: 'plants' };
  await new store.Migrator(database).migrate();
  // An order of an even plant fails.
  await pool.query('CREATE TABLE orders (plant_id bigint REFERENCES plants.plants CHECK (plant_id % 2 = 1))');
  const cls = ClsModule.forRoot({ middleware: { mount: true }, plugins });
  const imports = [cls, ofPool, SessionsModule, TerminusModule, typeOrm];
  const testing = await Test.createTestingModule({ imports, controllers: [HostController] }).compile();
  app = testing.createNestApplication({ rawBody: true });
  await app.listen(0, '127.0.0.1');
  plants = app.get(PlantsService, { strict: false });
});
afterAll(() => app.close().then(() => pool.end()));

async function send(path: string, init: RequestInit = {}, host = app): Promise<[status: number, body: unknown]> {
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer of-ada', ...init.headers };
  const response = await fetch((await host.getUrl()) + path, { ...init, headers });
  return [response.status, await response.json()];
}
const rose = (id: number): RequestInit => ({ method: 'POST', body: `{"id": ${id}, "name": "Rose"}` });

/** Creates a plant and its order in a transaction. */
const orders: Record<string, (id: bigint) => Promise<unknown>> = {
  Prisma: async (id) => {
    await prisma.$transaction(async (transaction) => {
      await plants.create({ id, name: 'Rose' }, { transaction });
      await transaction.order.create({ data: { plantId: id } });
    });
  },
  TypeORM: (id) =>
    app.get(DataSource).transaction(async (manager) => {
      await plants.create({ id, name: 'Rose' }, { transaction: manager.queryRunner });
      await manager.query('INSERT INTO orders (plant_id) VALUES ($1)', [id]);
    }),
  Drizzle: (id) =>
    drizzle(pool).transaction(async (tx) => {
      const query = (sql: string, params: unknown[]) =>
        tx._.session.prepareQuery({ sql, params }, undefined, undefined, false).execute();
      await plants.create({ id, name: 'Rose' }, { transaction: { query } });
      await tx.execute(`INSERT INTO orders (plant_id) VALUES (${id})`);
    }),
  Kysely: (id) =>
    kysely.transaction().execute(async (trx) => {
      const query = (sql: string, values: unknown[]) => trx.executeQuery(CompiledQuery.raw(sql, values));
      await plants.create({ id, name: 'Rose' }, { transaction: { query } });
      await trx.insertInto('orders').values({ plant_id: id }).execute();
    }),
  'a request, with nestjs-cls': async (id) =>
    expect(await send(`/orders/${id}`, { method: 'POST' })).toEqual([201, { id: String(id) }]),
};

it.each(Object.entries(orders))('should create a plant in a transaction of %s', async (_, order) => {
  const [id, refused] = [(lastId += 2n), lastId + 1n];
  await order(id);
  await expect(order(refused)).rejects.toThrow();
  const stored = 'SELECT id, plant_id FROM plants.plants LEFT JOIN orders ON id = plant_id WHERE id IN ($1, $2)';
  expect((await pool.query(stored, [id, refused])).rows).toEqual([{ id: `${id}`, plant_id: `${id}` }]);
});

it('should borrow the connections of TypeORM', async () => {
  const host = await (await Test.createTestingModule({ imports: [typeOrm, ofTypeOrm] }).compile()).init();
  expect(await host.get(PlantsService, { strict: false }).create({ id: -1n, name: 'Rose' })).toEqual({ name: 'Rose' });
  await host.close();
});

it('should ask a verifier of the host', async () => {
  const wrong = { ...rose(61), headers: { Authorization: 'Bearer unknown' } };
  expect(await send('/plants', wrong)).toMatchObject([400, { error: 40101 }]);
  expect(await send('/plants', rose(61))).toEqual([200, { name: 'Rose' }]);
  const { rows } = await pool.query('SELECT created_by FROM plants.plants WHERE id = 61');
  expect(rows).toEqual([{ created_by: 'ada' }]);
});

it('should be an indicator of Terminus', { timeout: 30_000 }, async () => {
  const expectHealth = (...health: unknown[]) =>
    vi.waitFor(async () => expect(await send('/health')).toMatchObject(health), { timeout: 10_000, interval: 500 });
  await expectHealth(200, { info: { plants: { status: 'up' } } });
  await pool.query('ALTER TABLE plants.plants RENAME TO lost');
  await expectHealth(503, { error: { plants: { message: 'the database refuses creates (SQLSTATE 42P01)' } } });
  await pool.query('ALTER TABLE plants.lost RENAME TO plants');
});

it('should leave GET to a model of the host, with exact ids', async () => {
  await plants.create({ id: 2n ** 63n - 1n, name: 'Rose' });
  const found = { id: '9223372036854775807', name: 'Rose', tag: null };
  expect(await send('/plants/9223372036854775807')).toEqual([200, found]);
  for (const id of ['9223372036854775806', '9223372036854775808', '1e3'])
    expect((await send(`/plants/${id}`))[0]).toBe(404);
});

it('should be tested without a database', async () => {
  const imports = [PlantsModule.forRoot({ database: { url: 'postgresql://nobody@127.0.0.1:1/none' }, guards: 'none' })];
  const testing = await Test.createTestingModule({ imports })
    .overrideProvider(PlantsService)
    .useValue({ create: async ({ name, tag }: NewPlant) => ({ name, tag }) })
    .compile();
  const host = testing.createNestApplication<NestExpressApplication>({ rawBody: true });
  await host.listen(0, '127.0.0.1');
  expect(await send('/plants', rose(1), host)).toEqual([200, { name: 'Rose' }]);
  await host.close();
});
