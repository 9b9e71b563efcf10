import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, type ModuleMetadata, Post, type Type, VersioningType } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import {
  ApiCreatedResponse,
  ApiProperty,
  DocumentBuilder,
  type OpenAPIObject,
  type SwaggerDocumentOptions,
  SwaggerModule,
} from '@nestjs/swagger';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { PlantsModule, type PlantsModuleOptions } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/documents.js';
import { guardedBy, Host, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

/** A class of the host's own, with the name of one of the store's schemas. */
function ownSchema(name: string): Type<object> {
  class Own {
    @ApiProperty()
    ofTheHost!: string;
  }
  return Object.defineProperty(Own, 'name', { value: name });
}
const [OwnPlant, OwnNewPlant, OwnError] = ['Plant', 'NewPlant', 'Error'].map(ownSchema) as [Type, Type, Type];

/** The host's own route on the path of the store, which answers with the body that it got. */
@Controller('plants')
class OwnController {
  @Post()
  @ApiCreatedResponse({ type: OwnPlant })
  post(@Body() body: unknown): object {
    return { host: body };
  }
}

let database: TestDatabase;
let host: Host;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await host.stop();
  await database.query('TRUNCATE plants');
});
afterAll(() => database.drop());

const storeWith = (options: Partial<PlantsModuleOptions> = {}) =>
  PlantsModule.forRoot({ database: { url: database.url }, guards: 'none', ...options });

describe.each(PLATFORMS)('the route of a store in a host on %s', (platform) => {
  it('should be below the prefix of the host, in its version, and leave all other paths to the host', async () => {
    const prepare = (app: NestExpressApplication): unknown =>
      app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '7' });
    const imports = [storeWith({ path: 'garden/trees' }), storeWith({ version: '1' })];
    host = await Host.start({ imports, controllers: [OwnController] }, { platform, prepare });
    const send = async (method: string, path: string) => (await host.send(method, `/api/${path}`, PLANT)).body;
    expect(await send('POST', 'v1/plants')).toEqual({ name: 'Rose' });
    expect(await send('POST', 'v7/garden/trees')).toMatchObject({ error: 40901 });
    expect(await send('POST', 'v7/plants')).toEqual({ host: JSON.parse(PLANT) as object });
    for (const path of ['plants', 'v2/plants', 'v1/plants/1', 'v1/garden/trees'])
      expect(await send('POST', path)).toMatchObject({ message: `Cannot POST /api/${path}` });
    expect(await send('PUT', 'v1/plants')).toMatchObject({ message: 'Cannot PUT /api/v1/plants' });
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
  });

  it('should refuse bodies that the host has parsed and not kept, and tell the log the line to add', async () => {
    host = await Host.start({ imports: [storeWith()] }, { platform, body: 'parsed' });
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject({ error: 50000 });
    expect(await database.query('SELECT FROM plants')).toEqual([]);
    const [entry] = host.logger.entries.filter(({ level }) => level === 'error');
    const advice = /create\(AppModule, \{ rawBody: true \}\), and no other parser of JSON: app\.useBodyParser/;
    expect(`${entry?.message} ${entry?.details.join()}`).toMatch(advice);
  });
});

describe('the OpenAPI document of a host', () => {
  /** As Nest's own documentation makes it. It has no mistake of the specification, and Nest logs no error. */
  async function documentOf(metadata: ModuleMetadata, options?: SwaggerDocumentOptions): Promise<OpenAPIObject> {
    const jwt = { type: 'http' } as const;
    const config = new DocumentBuilder().setTitle('Host').addBearerAuth().addBearerAuth(jwt, 'host-jwt').build();
    let document = '';
    const prepare = (app: NestExpressApplication): void => {
      app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI });
      document = JSON.stringify(SwaggerModule.createDocument(app, config, options));
    };
    host = await Host.start(metadata, { prepare });
    expect(host.logger.messages('error')).toEqual([]);
    // Without a guard an operation has no security.
    const rules = { 'operation-operationId-unique': 'error', 'security-defined': 'off' } as const;
    const linting = await createConfig({ extends: ['spec'], rules });
    const problems = await lintFromString({ source: document, config: linting });
    expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
    return JSON.parse(document) as OpenAPIObject;
  }

  it('should have the whole operation of each store, by its options, and what the route can answer', async () => {
    const plants = { ...guardedBy(TOKEN), schemaPrefix: '' };
    const trees = { ...plants, securityScheme: 'host-jwt', errorStatus: 'semantic', path: 'garden/trees' } as const;
    const document = await documentOf({ imports: [storeWith(plants), storeWith(trees), storeWith({ path: 'open' })] });

    const standalone = await generateOpenApi();
    const { parameters, responses, ...operation } = createPlantOf(standalone);
    const ofPlants = createPlantOf(document, '/api/plants');
    const ofHost = { operationId: 'PlantsController_create', security: [{ bearer: [] }] };
    expect(ofPlants).toMatchObject({ ...operation, ...ofHost });
    expect(parameters).toMatchObject(ofPlants.parameters ?? [{}]);
    expect(ofPlants.responses['200']).toEqual(responses['200']);
    const ofTrees = createPlantOf(document, '/api/garden/trees');
    expect(ofTrees.security).toEqual([{ 'host-jwt': [] }]);
    const answered = [200, 400, 401, 403, 409, 413, 415, 500, 503, 504];
    expect(Object.keys(ofTrees.responses)).toEqual(answered.map(String));
    expect(createPlantOf(document, '/api/open')).not.toHaveProperty('security');
    expect(document.components?.schemas).toMatchObject(standalone.components?.schemas ?? {});
  });

  it('should have schemas next to those of the host with the same names, and an id of each operation', async () => {
    const imports = [
      storeWith({ version: ['1', '2'] }),
      storeWith({ path: 'garden/trees', schemaPrefix: 'Forest' }),
      storeWith({ path: 'garden-trees' }),
    ];
    const extraModels = [OwnPlant, OwnNewPlant, OwnError];
    const { components, paths } = await documentOf({ imports, controllers: [OwnController] }, { extraModels });
    const prefixes = ['', 'PlantStore', 'Forest'];
    const names = prefixes.flatMap((prefix) => ['NewPlant', 'Plant', 'Error'].map((name) => prefix + name));
    expect(Object.keys(components?.schemas ?? {}).sort()).toEqual(names.sort());
    const ofTheHost = { properties: { ofTheHost: { type: 'string' } } };
    expect(components?.schemas).toMatchObject({ Plant: ofTheHost, NewPlant: ofTheHost, Error: ofTheHost });
    const ids = Object.values(paths).map(({ post }) => post?.operationId);
    const ofVersions = ['PlantsController_create_v1', 'PlantsController_create_v2'];
    const ofPaths = ['GardenTreesController_create', 'Garden_treesController_create'];
    expect(ids).toEqual(expect.arrayContaining([...ofVersions, ...ofPaths]));
  });
});
