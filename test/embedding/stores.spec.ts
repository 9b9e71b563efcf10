import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  type DynamicModule,
  Global,
  type INestApplication,
  Injectable,
  Module,
  type ModuleMetadata,
  Scope,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  BearerAuthGuard,
  exemptPlantsFromBodyParser,
  type NewPlant,
  PlantsAuthModule,
  PlantsHealth,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
  RequireScopes,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose", "tag": "flower"}';
const ROSE = { name: 'Rose', tag: 'flower' };
const AUTHORIZED = { Authorization: `Bearer ${TOKEN}` };

/** Code of a host's that creates plants by itself. */
@Injectable()
class Nursery {
  constructor(
    readonly plants: PlantsService,
    readonly health: PlantsHealth,
  ) {}
}

class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

const auth = PlantsAuthModule.forRoot({ accessTokens: [TOKEN] });
@Global()
@Module({ imports: [auth], exports: [auth] })
class SecurityModule {}

describe('stores in an application', () => {
  let databases: [TestDatabase, TestDatabase];
  let host: Host | undefined;

  beforeAll(async () => {
    databases = [await createTestDatabase(), await createTestDatabase()];
  });
  beforeEach(async () => {
    for (const database of databases) await database.query('TRUNCATE plants');
  });
  afterEach(async () => {
    await host?.stop();
    host = undefined;
  });
  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  const plants = (): DynamicModule =>
    PlantsModule.forRoot({ database: { url: databases[0].url }, ...guardedBy(TOKEN) });
  const trees = (): DynamicModule =>
    PlantsModule.forRootAsync({
      path: 'trees',
      ...guardedBy(`${TOKEN}-of-trees`),
      errorStatus: 'semantic',
      useFactory: () => Promise.resolve({ database: { url: databases[1].url }, bodyLimit: 100 }),
    });
  const stored = (index: 0 | 1): Promise<unknown[]> => databases[index].query('SELECT id, name, tag FROM plants');

  it('should each have its database, tokens and options', async () => {
    host = await Host.start({ imports: [plants(), trees()] });
    const toTrees = { Authorization: `${AUTHORIZED.Authorization}-of-trees` };
    const long = `{"id": 1, "name": "${'x'.repeat(100)}"}`;
    expect(await host.send('POST', '/plants', PLANT, AUTHORIZED)).toMatchObject({ status: 200, body: ROSE });
    expect(await stored(1)).toEqual([]);
    expect(await host.send('POST', '/trees', PLANT, toTrees)).toMatchObject({ status: 200, body: ROSE });
    for (const index of [0, 1] as const) expect(await stored(index)).toEqual([{ id: '9007199254740993', ...ROSE }]);

    expect(await host.send('POST', '/plants', PLANT, toTrees)).toMatchObject({ status: 400, body: { error: 40101 } });
    expect(await host.send('POST', '/trees', PLANT, AUTHORIZED)).toMatchObject({ status: 401, body: { error: 40101 } });
    expect((await host.send('POST', '/plants', long, AUTHORIZED)).status).toBe(200);
    expect(await host.send('POST', '/trees', long, toTrees)).toMatchObject({ status: 413, body: { error: 41300 } });
  });

  it('should be shared by all modules that import what one call returned', async () => {
    const [store, other] = [trees(), plants()];
    @Module({ imports: [store], providers: [Nursery], exports: [Nursery, store] })
    class NurseryModule {}
    @Module({ imports: [store], providers: [Nursery] })
    class ForestModule {}
    const { app } = (host = await Host.start({ imports: [NurseryModule, ForestModule, other] }));
    const [nursery, forest] = [NurseryModule, ForestModule].map((module) => app.select(module).get(Nursery));
    expect(nursery?.plants).toBe(forest?.plants);
    await nursery?.health.check();
    expect(await nursery?.plants.create({ id: 1n, name: 'Oak' })).toEqual({ name: 'Oak' });
    expect([await stored(0), await stored(1)]).toEqual([[], [{ id: '1', name: 'Oak', tag: null }]]);
  });

  it('should need no HTTP, and close more than once', async () => {
    @Module({ imports: [plants()], providers: [Nursery] })
    class HostModule {}
    const context = await NestFactory.createApplicationContext(HostModule, { logger: false });
    const { plants: service } = context.get(Nursery);
    const [rose, options] = [{ id: 9_007_199_254_740_993n, ...ROSE }, { idempotencyKey: 'key' }];
    for (let sent = 0; sent < 2; sent++) expect(await service.create(rose, options)).toEqual(ROSE);
    await expect(service.create(rose)).rejects.toMatchObject({ error: 40901 });
    await expect(service.create({ ...rose, name: 'Fern' }, options)).rejects.toMatchObject({ error: 40902 });
    await Promise.all([context.close(), context.close()]);
    await context.close();
  });

  const storeWith = (options: object): DynamicModule =>
    PlantsModule.forRoot({ database: { url: databases[0].url }, ...options } as PlantsModuleOptions);
  const closed = { provide: APP_GUARD, useClass: ClosedGuard, scope: Scope.REQUEST };

  it.each<[string, () => ModuleMetadata, object]>([
    [
      'BearerAuthGuard, with tokens of a global module',
      () => ({ imports: [storeWith({ guards: [BearerAuthGuard] }), SecurityModule] }),
      { error: 40100 },
    ],
    [
      'those of APP_GUARD',
      () => ({ imports: [storeWith({ guards: 'global' })], providers: [closed] }),
      { error: 40300 },
    ],
    ['none', () => ({ imports: [storeWith({ guards: 'none' })] }), ROSE],
  ])('should find their guards: %s', async (guards, metadata, body) => {
    host = await Host.start(metadata());
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject(body);
    const warning = /^guards is 'none': everybody may create plants at the path "plants", unless/;
    expect(host.logger.messages('warn')).toEqual(guards === 'none' ? [expect.stringMatching(warning)] : []);
  });

  it.each<[object, RegExp]>([
    [{ guards: [BearerAuthGuard] }, /resolve dependencies of the BearerAuthGuard .*TokenVerifier/],
    [{ guards: 'global' }, /^guards: is 'global', but the application has no global guard/m],
    [
      { guards: 'none', database: { url: 'postgresql://localhost/plants', size: 0 }, bodylimit: 5 },
      /^The options of PlantsModule cannot be used:\nbodylimit: is no option.*\ndatabase\.size: is 0, should be a whole/,
    ],
  ])('should keep the application from starting with %j', async (options, message) => {
    await expect(Host.start({ imports: [storeWith(options)] })).rejects.toThrow(message);
  });
});

describe(RequireScopes.name, () => {
  it.each([[], [''], ['a', 'reports.read reports.write'], [['read']], [undefined]])(
    'should refuse at once what is no scope (%#)',
    (...scopes) => {
      expect(() => RequireScopes(...(scopes as string[]))).toThrow(
        /^RequireScopes\(\) should have scopes such as orders:read/,
      );
    },
  );
});

describe('a test of a host, without its database', () => {
  let app: INestApplication;
  const created: NewPlant[] = [];

  beforeAll(async () => {
    // Nothing listens there.
    const database = { url: 'postgresql://gardener@127.0.0.1:1/plants' };
    const create = (plant: NewPlant): Promise<object> => {
      created.push(plant);
      return Promise.resolve({ name: plant.name });
    };
    const testing = await Test.createTestingModule({
      imports: [PlantsModule.forRoot({ database, ...guardedBy(TOKEN) })],
    })
      .overrideProvider(PlantsService)
      .useValue({ create })
      .compile();
    app = testing.createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  async function post(body: string, headers: object): Promise<unknown> {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body };
    return (await fetch(`${await app.getUrl()}/plants`, init)).json();
  }

  it('should give plants to the service of the test, behind the checks of production', async () => {
    expect(await post(PLANT, { Authorization: 'Bearer wrong' })).toMatchObject({ error: 40101 });
    expect(await post('{"id": 1}', AUTHORIZED)).toMatchObject({ error: 40003 });
    expect(await post(PLANT, AUTHORIZED)).toEqual({ name: 'Rose' });
    expect(created).toMatchObject([{ id: 9007199254740993n, ...ROSE }]);
    await expect(app.get(PlantsHealth, { strict: false }).check()).rejects.toThrow('cannot be reached');
  });
});
