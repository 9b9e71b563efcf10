import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type INestApplication, Injectable, Logger, Module, VersioningType } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { NestFactory, RouterModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import fastify from 'fastify';
import { Server, Socket } from 'node:net';
import {
  AuthModule,
  BearerAuthGuard,
  type CreatedPlant,
  exemptPlantsFromBodyParser,
  PlantsHealth,
  PlantsModule,
  PlantsModuleOptionsError,
  PlantsService,
  PlantsStatistics,
} from '../../src/index.js';
import { PlantsInMemory, PlantsTestingModule } from '../../src/testing/index.js';
import { TOKEN } from '../support/http/request.js';

const ID = 9_223_372_036_854_775_807n;
const PLANT = `{"id": ${ID}, "name": "Rose"}`;
const DATABASE = { url: 'postgresql://gardener@127.0.0.1:1/plants' };

type Imports = NonNullable<Parameters<typeof Module>[0]['imports']>;

/** Code of a host's that creates plants by itself. */
@Injectable()
class Nursery {
  constructor(
    readonly plants: PlantsService,
    readonly health: PlantsHealth,
    readonly statistics: PlantsStatistics,
    readonly memory: PlantsInMemory,
  ) {}
}

describe(PlantsTestingModule.name, () => {
  const running: { close(): Promise<void> }[] = [];

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const app of running.splice(0)) await app.close();
  });

  /** On Fastify, which answers without a socket. */
  async function start(...imports: Imports): Promise<NestFastifyApplication> {
    @Module({ imports, providers: [Nursery], exports: [Nursery] })
    class HostModule {}
    const testing = await Test.createTestingModule({ imports: [HostModule] }).compile();
    const app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    running.push(app);
    exemptPlantsFromBodyParser(app);
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    await app.init();
    return app;
  }

  async function post(
    app: NestFastifyApplication,
    headers: Record<string, string> = {},
    payload = PLANT,
    path = '/v1/plants',
  ) {
    const response = await app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    });
    return {
      status: response.statusCode,
      headers: response.headers,
      body: response.json<{ error?: number; message: string }>(),
    };
  }

  describe('without options', () => {
    let app: NestFastifyApplication;
    let nursery: Nursery;

    beforeEach(async () => {
      app = await start(PlantsTestingModule.forRoot());
      nursery = app.get(Nursery, { strict: false });
    });

    it('should create plants without a credential, and show them in the order of their creation', async () => {
      const { memory, plants } = nursery;
      expect(await post(app, { 'idempotency-key': 'k' })).toMatchObject({ status: 200, body: { name: 'Rose' } });
      await plants.create({ id: -1n, name: 'Fern', tag: 'green' });
      expect(memory.plants).toStrictEqual([
        { id: ID, name: 'Rose', idempotencyKey: 'k' },
        { id: -1n, name: 'Fern', tag: 'green' },
      ]);
    });

    it('should answer a repetition, another plant with the key, and a taken id as the store does', async () => {
      const key = { 'idempotency-key': 'k' };
      const fern = PLANT.replace('Rose', 'Fern');
      for (const status of [200, 200]) expect(await post(app, key)).toMatchObject({ status, body: { name: 'Rose' } });
      expect(await post(app, key, fern)).toMatchObject({ status: 400, body: { error: 40902 } });
      expect(await post(app)).toMatchObject({ status: 400, body: { error: 40901 } });
      expect(await post(app, {}, '{"id": 1.5}')).toMatchObject({ status: 400, body: { error: 40003 } });
      expect(nursery.memory.plants).toMatchObject([{ name: 'Rose' }]);
    });

    it('should store at once what a transaction of the host creates, and send nothing through it', async () => {
      const { memory, plants, statistics } = nursery;
      const query = jest.fn();
      const create = (name: string): Promise<unknown> =>
        plants.create({ id: 1n, name }, { idempotencyKey: 'k', transaction: { isTransactionActive: true, query } });
      for (const answer of [await create('Rose'), await create('Rose')]) expect(answer).toEqual({ name: 'Rose' });
      await expect(create('Fern')).rejects.toMatchObject({ error: 40902 });
      expect(memory.plants).toStrictEqual([{ id: 1n, name: 'Rose', idempotencyKey: 'k' }]);
      expect(await post(app, {}, '{"id": 1, "name": "Rose"}')).toMatchObject({ status: 400, body: { error: 40901 } });
      expect([query.mock.calls, statistics.created]).toEqual([[], 0]);
    });

    it('should forget its plants, and failures to come, between tests', async () => {
      const { memory } = nursery;
      await post(app);
      memory.failNext(50300);
      memory.clear();
      expect(memory.plants).toEqual([]);
      expect(await post(app)).toMatchObject({ status: 200 });
    });

    it.each([
      [50300, '1'],
      [50301, '1'],
      [50400, undefined],
    ] as const)('should fail once with %i, as the store does, and store and log nothing', async (error, retryAfter) => {
      const logged = jest.spyOn(Logger.prototype, 'error');
      nursery.memory.failNext(error);
      const { status, headers, body } = await post(app);
      expect([status, headers['retry-after'], body]).toMatchObject([400, retryAfter, { error }]);
      expect(body.message).toMatch(error === 50400 ? /unknown/ : /Nothing was written/);
      expect(nursery.memory.plants).toEqual([]);
      expect(logged).not.toHaveBeenCalled();
      expect(await post(app)).toMatchObject({ status: 200 });
    });

    it.each([40901, 'toString', undefined])('should know no failure %s', (error) => {
      expect(() => {
        nursery.memory.failNext(error as never);
      }).toThrow(new TypeError(`failNext: is ${String(error)}, should be one of 50300, 50301, 50400`));
    });

    it('should be well, and count what it does', async () => {
      await nursery.health.check();
      await Promise.all(['1', '2', '2'].map((id) => post(app, {}, `{"id": ${id}, "name": "Rose"}`)));
      expect(nursery.statistics).toMatchObject({ created: 2, waiting: 0, inFlight: 0 });
    });

    it('should describe its operation', () => {
      const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      expect(paths['/v1/plants']).toMatchObject({ post: { operationId: 'createPlant' } });
    });
  });

  it('should open no socket', async () => {
    const connect = jest.spyOn(Socket.prototype, 'connect');
    const listen = jest.spyOn(Server.prototype, 'listen');
    const app = await start(PlantsTestingModule.forRoot());
    expect(await post(app)).toMatchObject({ status: 200 });
    await app.get(PlantsHealth, { strict: false }).check();
    expect([connect, listen].flatMap(({ mock }) => mock.calls)).toEqual([]);
  });

  it('should start no timer', async () => {
    const timers = [jest.spyOn(globalThis, 'setTimeout'), jest.spyOn(globalThis, 'setInterval')];
    const testing = await Test.createTestingModule({ imports: [PlantsTestingModule.forRoot()] }).compile();
    running.push(testing);
    await testing.init();
    await testing.get(PlantsService).create({ id: ID, name: 'Rose' });
    await testing.get(PlantsHealth).check();
    expect(timers.flatMap(({ mock }) => mock.calls)).toEqual([]);
  });

  it('should take the options and extras of PlantsModule', async () => {
    const created: CreatedPlant[] = [];
    const app = await start(
      PlantsTestingModule.forRoot({
        path: 'garden/plants',
        version: '2',
        guards: [BearerAuthGuard],
        imports: [AuthModule.forRoot({ accessTokens: [TOKEN] })],
        errorStatus: 'semantic',
        bodyLimit: 100,
        openApi: { namePrefix: 'Garden' },
        onCreated: (plant) => {
          created.push(plant);
        },
      }),
    );
    const path = '/v2/garden/plants';
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect(await post(app, {}, PLANT, path)).toMatchObject({ status: 401, body: { error: 40100 } });
    expect(await post(app, bearer, PLANT, path)).toMatchObject({ status: 200, body: { name: 'Rose' } });
    expect(await post(app, bearer, PLANT.padEnd(101), path)).toMatchObject({ status: 413, body: { error: 41300 } });
    expect(created).toEqual([{ id: ID, createdBy: 'static' }]);
    const stored = [{ id: ID, name: 'Rose', createdBy: 'static' }];
    expect(app.get(PlantsInMemory, { strict: false }).plants).toStrictEqual(stored);
    const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    expect(paths[path]).toMatchObject({ post: { operationId: 'createGardenPlant' } });
  });

  it('should take its options from a factory', async () => {
    const useFactory = () => Promise.resolve({ bodyLimit: 100 });
    const app = await start(PlantsTestingModule.forRootAsync({ useFactory, path: 'garden', errorStatus: 'semantic' }));
    expect(await post(app, {}, '5', '/v1/garden')).toMatchObject({ status: 400, body: { error: 40001 } });
    expect(await post(app, {}, PLANT.padEnd(101), '/v1/garden')).toMatchObject({ status: 413 });
    expect(await post(app, {}, PLANT, '/v1/garden')).toMatchObject({ status: 200 });
    expect(await post(app, {}, PLANT, '/v1/garden')).toMatchObject({ status: 409 });
  });

  it('should keep the plants of two stores apart', async () => {
    const stores = ['roses', 'ferns'].map((path) => PlantsTestingModule.forRoot({ path }));
    const app = await start(...stores);
    for (const path of ['/v1/roses', '/v1/ferns'])
      expect(await post(app, {}, PLANT, path)).toMatchObject({ status: 200 });
    expect(app.get(Nursery, { strict: false }).memory.plants).toHaveLength(1);
  });

  it.each(['the store', 'the module around it'])('should take the place of %s in a host', async (what) => {
    const imports = [AuthModule.forRoot({ accessTokens: [TOKEN] })];
    const store = PlantsModule.forRoot({ database: DATABASE, guards: [BearerAuthGuard], imports });
    @Module({ imports: [store], exports: what === 'the store' ? [] : [PlantsModule] })
    class GardenStoreModule {}
    @Module({ imports: [GardenStoreModule, RouterModule.register([{ path: 'garden', module: PlantsModule }])] })
    class HostModule {}
    const kit = PlantsTestingModule.forRoot();
    @Module({ imports: [kit], exports: [kit] })
    class GardenStoreTestingModule {}
    const building = Test.createTestingModule({ imports: [HostModule] });
    const testing = await (
      what === 'the store'
        ? building.overrideModule(store).useModule(kit)
        : building.overrideModule(GardenStoreModule).useModule(GardenStoreTestingModule)
    ).compile();
    const app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { rawBody: true });
    running.push(app);
    await app.init();
    expect(await post(app, {}, PLANT, '/garden/plants')).toMatchObject({ status: 200 });
    expect(testing.get(PlantsInMemory, { strict: false }).plants).toEqual([{ id: ID, name: 'Rose' }]);
  });

  it.each<[string, object, string]>([
    [
      'a database',
      { database: DATABASE },
      'database: is given, should be left out: PlantsTestingModule keeps the plants in memory',
    ],
    ['a misspelt option', { bodylimit: 5 }, 'bodylimit: is no option, should be one of '],
    ['a wrong path', { path: '' }, 'path: is a string, should be '],
    ['a wrong limit', { bodyLimit: 0 }, 'bodyLimit: is 0, should be '],
  ])('should refuse %s', async (_, options, message) => {
    const starting = Promise.resolve().then(() => start(PlantsTestingModule.forRoot(options)));
    await expect(starting).rejects.toThrow(PlantsModuleOptionsError);
    await expect(starting).rejects.toThrow(message);
  });
});

describe('PlantsTestingModule in a part of a Fastify server of the host', () => {
  it('should refuse other methods below the prefix of that part', async () => {
    const server = fastify();
    let app: INestApplication | undefined;
    server.register(
      async (part) => {
        const adapter = new FastifyAdapter(part as never);
        app = await NestFactory.create(PlantsTestingModule.forRoot(), adapter, { logger: false });
        await app.init();
      },
      { prefix: '/part' },
    );
    try {
      const { headers, body } = await server.inject({ method: 'GET', url: '/part/plants' });
      expect([headers.allow, body]).toEqual(['POST', expect.stringContaining('"error":40500')]);
      const payload = { id: 1, name: 'Rose' };
      expect((await server.inject({ method: 'POST', url: '/part/plants', payload })).json()).toEqual({ name: 'Rose' });
    } finally {
      await app?.close();
    }
  });
});
