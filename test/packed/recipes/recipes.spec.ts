import { Controller, Get, Injectable, Module } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { HealthCheck, HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import * as store from 'plant-store';
import { type NewPlant, PlantsAuthModule, PlantsHealth, PlantsModule, PlantsService } from 'plant-store';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PrismaClient } from './generated/client.js';

const { DATABASE_URL = '' } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });

@Injectable()
class SessionVerifier extends store.TokenVerifier {
  verify = async (token: string) => (token === 'of-ada' ? { name: 'ada', scopes: ['plants:create'] } : undefined);
}

@Module({ providers: [SessionVerifier], exports: [SessionVerifier] })
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
    private readonly indicators: HealthIndicatorService,
    private readonly plantsHealth: PlantsHealth,
  ) {}

  @Get('health')
  @HealthCheck()
  check() {
    return this.health.check([() => this.indicators.check('plants').attempt(() => this.plantsHealth.check())]);
  }
}

const database = { pool, schema: 'plants' };
const ofPool = PlantsModule.forRoot({ database, guards: [store.BearerAuthGuard], imports: [auth] });
const ofTypeOrm = PlantsModule.forRootAsync({
  inject: [DataSource],
  useFactory: ({ driver }: DataSource) => ({ database: { pool: (driver as PostgresDriver).master, schema: 'plants' } }),
  path: false,
});
const typeOrm = TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE_URL });

let app: NestExpressApplication;
let plants: PlantsService;
let lastId = 101n;

beforeAll(async () => {
  await new store.Migrator({ url: DATABASE_URL, schema: 'plants' }).migrate();
  // An order of an even plant fails.
  await pool.query('CREATE TABLE orders (plant_id bigint REFERENCES plants.plants CHECK (plant_id % 2 = 1))');
  const imports = [ofPool, TerminusModule, typeOrm];
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

it('should be an indicator of Terminus', async () => {
  expect(await send('/health')).toMatchObject([200, { info: { plants: { status: 'up' } } }]);
  await pool.query('ALTER TABLE plants.plants RENAME TO lost');
  const message = 'the database refuses creates (SQLSTATE 42P01)';
  expect(await send('/health')).toMatchObject([503, { error: { plants: { message } } }]);
  await pool.query('ALTER TABLE plants.lost RENAME TO plants');
});

it('should be read by a model of the host', async () => {
  const id = 2n ** 63n - 1n;
  await plants.create({ id, name: 'Rose' });
  expect(await prisma.plant.findUnique({ where: { id } })).toEqual({ id, name: 'Rose', tag: null });
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
