import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

/** A class of the host's own, with the name of one of the store's schemas. */
function ownSchema(name: string): Type<object> {
  class Own {
    @ApiProperty()
    ofTheHost!: string;
  }
  return Object.defineProperty(Own, 'name', { value: name });
}
const [OwnPlant, OwnNewPlant, OwnError] = ['Plant', 'NewPlant', 'Error'].map(ownSchema) as [Type, Type, Type];

@Controller('own')
class PlantsController {
  @Post()
  @ApiCreatedResponse({ type: OwnPlant })
  create(@Body() plant: object): object {
    return plant;
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const storeWith = (options: Partial<PlantsModuleOptions> = {}) =>
  PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN), ...options });

/** The document as Nest's own documentation makes it, and without a mistake of the specification or a warning of Nest. */
async function documentOf(metadata: ModuleMetadata, options?: SwaggerDocumentOptions): Promise<OpenAPIObject> {
  const scheme = { type: 'http', scheme: 'bearer' } as const;
  const config = new DocumentBuilder().setTitle('Host').addBearerAuth().addBearerAuth(scheme, 'host-jwt').build();
  let document = '';
  const prepare = (app: NestExpressApplication): void => {
    app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI });
    document = JSON.stringify(SwaggerModule.createDocument(app, config, options));
  };
  const host = await Host.start(metadata, { prepare });
  expect(host.logger.messages('error')).toEqual([]);
  await host.stop();
  // Without a guard an operation has no security.
  const rules = { 'operation-operationId-unique': 'error', 'security-defined': 'off' } as const;
  const linting = await createConfig({ extends: ['spec'], rules });
  const problems = await lintFromString({ source: document, config: linting });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
  return JSON.parse(document) as OpenAPIObject;
}

const operationIds = ({ paths }: OpenAPIObject): unknown[] => Object.values(paths).map(({ post }) => post?.operationId);

describe('The OpenAPI document of a host', () => {
  it('should have the whole operation of each store, by its options, and what the route can answer', async () => {
    const trees = {
      securityScheme: 'host-jwt',
      errorStatus: 'semantic',
      path: 'garden/trees',
      schemaPrefix: '',
    } as const;
    const imports = [storeWith({ schemaPrefix: '' }), storeWith(trees), storeWith({ path: 'open', guards: 'none' })];
    const document = await documentOf({ imports });

    const standalone = await generateOpenApi();
    const { responses, ...operation } = createPlantOf(standalone);
    expect(createPlantOf(document, '/api/plants')).toMatchObject({
      ...operation,
      operationId: 'PlantsController_createPlant',
      security: [{ bearer: [] }],
    });
    expect(createPlantOf(document, '/api/plants').responses['200']).toEqual(responses['200']);
    expect(createPlantOf(document, '/api/plants').responses['400']).not.toHaveProperty('headers.Allow');
    const semantic = createPlantOf(document, '/api/garden/trees');
    expect(semantic.security).toEqual([{ 'host-jwt': [] }]);
    const answered = [200, 400, 401, 403, 409, 413, 415, 500, 503, 504];
    expect(Object.keys(semantic.responses)).toEqual(answered.map(String));
    expect(createPlantOf(document, '/api/open')).not.toHaveProperty('security');
    expect(document.components?.schemas).toMatchObject(standalone.components?.schemas ?? {});
  });

  it('should have the schemas of the store next to those of the host with the same names', async () => {
    const ofTheHost = { properties: { ofTheHost: { type: 'string' } } };
    for (const imports of [[storeWith()], [storeWith(), storeWith({ path: 'trees', schemaPrefix: 'Forest' })]]) {
      const extraModels = [OwnPlant, OwnNewPlant, OwnError];
      const { components } = await documentOf({ imports, controllers: [PlantsController] }, { extraModels });
      const prefixes = imports.length === 1 ? ['PlantStore'] : ['PlantStore', 'Forest'];
      const ofStores = prefixes.flatMap((prefix) => ['NewPlant', 'Plant', 'Error'].map((name) => prefix + name));
      expect(Object.keys(components?.schemas ?? {}).sort()).toEqual(['Error', 'NewPlant', 'Plant', ...ofStores].sort());
      expect(components?.schemas).toMatchObject({ Plant: ofTheHost, NewPlant: ofTheHost, Error: ofTheHost });
    }
  });

  it('should give each operation an id of its own, or the one that the host makes', async () => {
    const imports = [
      storeWith({ version: ['1', '2'] }),
      storeWith({ path: 'garden/trees' }),
      storeWith({ path: 'garden-trees' }),
    ];
    const ofNest = ['PlantsController_createPlant_v1', 'PlantsController_createPlant_v2'];
    const ids = operationIds(await documentOf({ imports }));
    const names = ['GardenTreesController', 'Garden_treesController'];
    expect(ids).toEqual([...ofNest, ...names.map((name) => `${name}_createPlant`)]);
    const operationIdFactory = (...parts: (string | undefined)[]): string => parts.reverse().join('.');
    const ofHost = operationIds(await documentOf({ imports }, { operationIdFactory }));
    expect(ofHost).toEqual([
      'v1.createPlant.PlantsController',
      'v2.createPlant.PlantsController',
      ...names.map((name) => `.createPlant.${name}`),
    ]);
  });
});
