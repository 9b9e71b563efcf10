import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  Module,
  type ModuleMetadata,
  Post,
  Put,
  type Type,
  VersioningType,
} from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { exemptPlantsFromBodyParser, PlantsModule, type PlantsModuleOptions, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createPlantOf, expectValidOpenApi, generateOpenApi } from '../support/documents/openapi.js';
import { guardedBy, Host, type HostSettings, type Platform, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

/** A controller of the host with one route, which answers with the body that it got. */
function answering(path: string, route: MethodDecorator): Type {
  @Controller(path)
  class OwnController {
    @route
    answer(@Body() body: unknown): unknown {
      return { host: body ?? {} };
    }
  }
  return OwnController;
}

let database: TestDatabase;
let host: Host | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await host?.stop();
  host = undefined;
  await database.query('TRUNCATE plants');
});
afterAll(() => database.drop());

const storeWith = (options: Partial<PlantsModuleOptions> = {}) =>
  PlantsModule.forRoot({ database: { url: database.url }, guards: 'none', ...options });
const ids = async (): Promise<unknown[]> => (await database.query('SELECT id FROM plants')).map(({ id }) => id);
const start = async (metadata: ModuleMetadata, settings?: HostSettings): Promise<Host> =>
  (host = await Host.start(metadata, settings));

async function answer(method: string, path: string, headers = {}): Promise<unknown> {
  const body = method === 'GET' ? undefined : PLANT;
  const answered = await host?.send(method, path, body, headers);
  if (answered?.body.name === 'Rose') return 'store';
  return answered?.body.host === undefined ? [answered?.status, answered?.body.message] : 'host';
}

const notFound = (method: string, path: string): unknown => [404, `Cannot ${method} ${path}`];

describe.each(PLATFORMS)('the route of a store in a host on %s', (platform) => {
  it('should be at its path below the prefix of the host, in its version, and leave all others to the host', async () => {
    const prepare = (app: NestExpressApplication): unknown =>
      app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '7' });
    const imports = [storeWith({ path: 'garden/trees' }), storeWith({ version: '1' })];
    await start({ imports, controllers: [answering('plants', Get())] }, { platform, prepare });
    expect(await answer('POST', '/api/v1/plants')).toBe('store');
    expect(await answer('GET', '/api/v1/plants')).toEqual(notFound('GET', '/api/v1/plants'));
    expect(await answer('GET', '/api/v7/plants')).toBe('host');
    for (const path of ['/api/plants', '/api/v2/plants', '/api/v1/plants/1', '/api/v1/garden/trees'])
      expect(await answer('POST', path)).toEqual(notFound('POST', path));
    expect(await ids()).toEqual(['9007199254740993']);
    await database.query('TRUNCATE plants');
    expect(await answer('POST', '/api/v7/garden/trees')).toBe('store');
  });

  it('should take the body of its own version alone, but on Express that of every POST on the path', async () => {
    const prepare = (app: NestExpressApplication): unknown =>
      app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version', defaultVersion: '2' });
    const controllers = [answering('plants', Post()), answering('plants', Put())];
    await start({ imports: [storeWith({ version: '1' })], controllers }, { platform, prepare });
    expect(await answer('POST', '/plants', { 'X-Version': '1' })).toBe('store');
    const parsed = JSON.parse(PLANT) as unknown;
    for (const [method, body] of [
      ['POST', platform === 'express' ? {} : parsed],
      ['PUT', parsed],
    ] as const)
      expect((await host?.send(method, '/plants', PLANT, { 'X-Version': '2' }))?.body).toEqual({ host: body });
  });

  // Who answers a POST and a PUT on the path: the store, or the host with what it has there, or with its own 404.
  const NOBODY = notFound('PUT', '/plants');
  const DECLARED = /Method 'POST' already declared/;
  it.each<[string, 'before' | 'after', Type, Record<Platform, [post: unknown, put: unknown] | RegExp>]>([
    ['the same', 'before', answering('plants', Post()), { express: ['host', NOBODY], fastify: DECLARED }],
    ['the same', 'after', answering('plants', Post()), { express: ['store', NOBODY], fastify: DECLARED }],
    [
      'another method',
      'before',
      answering('plants', Put()),
      { express: ['store', 'host'], fastify: ['store', 'host'] },
    ],
    ['a parameter', 'before', answering(':any', Post()), { express: ['host', NOBODY], fastify: ['store', NOBODY] }],
  ])('should meet a route of the host with %s, registered %s it', async (_, order, own, { [platform]: expected }) => {
    @Module({ controllers: [own] })
    class FeatureModule {}
    const imports = order === 'before' ? [FeatureModule, storeWith()] : [storeWith(), FeatureModule];
    if (expected instanceof RegExp) {
      await expect(start({ imports }, { platform })).rejects.toThrow(expected);
      return;
    }
    await start({ imports }, { platform });
    const answers = [await answer('POST', '/plants'), await answer('PUT', '/plants')];
    expect(answers).toEqual(expected);
    expect(await ids()).toEqual(expected[0] === 'store' ? ['9007199254740993'] : []);
  });

  // The contract suites show what the store reads with exemptPlantsFromBodyParser() and with rawBody.
  it('should refuse bodies that the host has parsed, tell the log what to do, and not be exempt from then on', async () => {
    const { app, logger } = await start({ imports: [storeWith()] }, { platform, body: 'parsed' });
    expect((await host?.send('POST', '/plants', PLANT))?.body).toMatchObject({ error: 50000 });
    expect(await ids()).toEqual([]);
    const [entry] = logger.entries.filter(({ level }) => level === 'error');
    const logged = [entry?.message, ...(entry?.details ?? [])].join();
    expect(logged).toMatch(/exemptPlantsFromBodyParser\(app\).*`rawBody: true`/);
    expect(() => {
      exemptPlantsFromBodyParser(app);
    }).toThrow(/comes too late: call it right after NestFactory\.create\(\), before any body parser/);
  });
});

describe('the options of a store', () => {
  it('should make no route, and need no guards, if the path is false', async () => {
    const { app } = await start({ imports: [PlantsModule.forRoot({ database: { url: database.url }, path: false })] });
    expect(await answer('POST', '/plants')).toEqual(notFound('POST', '/plants'));
    const plants = app.get(PlantsService, { strict: false });
    expect(await plants.create({ id: 1n, name: 'Rose' })).toEqual({ name: 'Rose' });
    expect(await ids()).toEqual(['1']);
  });

  it('should be its own: database, tokens, statuses and limits', async () => {
    const other = await createTestDatabase();
    const forest = PlantsModule.forRootAsync({
      path: 'trees',
      ...guardedBy(`${TOKEN}-of-trees`),
      errorStatus: 'semantic',
      useFactory: () => Promise.resolve({ database: { url: other.url }, bodyLimit: 100 }),
    });
    const both = await Host.start({ imports: [storeWith(guardedBy(TOKEN)), forest] });
    const long = `{"id": 1, "name": "${'x'.repeat(100)}"}`;
    const [toPlants, toTrees] = ['', '-of-trees'].map((end) => ({ Authorization: `Bearer ${TOKEN}${end}` }));
    for (const [path, body, headers, expected] of [
      ['/plants', PLANT, toPlants, { status: 200 }],
      ['/plants', long, toPlants, { status: 200 }],
      ['/plants', PLANT, toTrees, { status: 400, body: { error: 40101 } }],
      ['/trees', PLANT, toPlants, { status: 401, body: { error: 40101 } }],
      ['/trees', long, toTrees, { status: 413, body: { error: 41300 } }],
      ['/trees', PLANT, toTrees, { status: 200 }],
    ] as const)
      expect(await both.send('POST', path, body, headers)).toMatchObject(expected);
    expect([await ids(), await other.query('SELECT id FROM plants')]).toEqual([
      expect.arrayContaining(['1', '9007199254740993']),
      [{ id: '9007199254740993' }],
    ]);
    await both.stop();
    await other.drop();
  });
});

/** As in Nest's own documentation. */
async function documentOf(...stores: Partial<PlantsModuleOptions>[]): Promise<OpenAPIObject> {
  let document = {} as OpenAPIObject;
  const prepare = (app: NestExpressApplication): void => {
    app.setGlobalPrefix('api');
    const config = new DocumentBuilder().setTitle('Host').setVersion('2.0').addBearerAuth().build();
    document = JSON.parse(JSON.stringify(SwaggerModule.createDocument(app, config))) as OpenAPIObject;
  };
  const { logger } = await start({ imports: stores.map(storeWith) }, { prepare });
  expect(logger.messages('error')).toEqual([]);
  return document;
}

describe('the OpenAPI document of a host', () => {
  it('should have the whole operation, its schemas, and a security scheme that is there', async () => {
    const document = await documentOf(guardedBy(TOKEN));
    const standalone = await generateOpenApi();
    expect(createPlantOf(document, '/api/plants')).toEqual({
      ...createPlantOf(standalone),
      security: [{ bearer: [] }],
    });
    expect(document.components?.schemas).toEqual(standalone.components?.schemas);
    await expectValidOpenApi(document);
  });

  it('should follow the options of each store', async () => {
    const named = { ...guardedBy(TOKEN), securityScheme: 'host-jwt' };
    const document = await documentOf(named, { errorStatus: 'semantic', path: 'garden/trees' });
    expect(createPlantOf(document, '/api/plants').security).toEqual([{ 'host-jwt': [] }]);
    const open = createPlantOf(document, '/api/garden/trees');
    expect(open).not.toHaveProperty('security');
    const semantic = createPlantOf(await generateOpenApi({ ERROR_STATUS: 'semantic' }));
    expect(open.responses).toEqual(semantic.responses);
    expect(Object.keys(document.components?.schemas ?? {}).sort()).toEqual(['Error', 'NewPlant', 'Plant']);
  });
});
