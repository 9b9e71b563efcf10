import { afterEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module, type ModuleMetadata, VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { AddressInfo } from 'node:net';
import { PlantsModule } from '../../src/index.js';
import type { PlantsModuleExtras, PlantsOpenApiOptions } from '../../src/plants/plants.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import { expectValidOpenApi } from '../support/documents/valid-openapi.js';
import { CatalogueController } from '../support/host/catalogue.controller.js';

const SCHEMAS = '#/components/schemas/';
const DATABASE = { url: 'postgresql://localhost/plants' };

function store(openApi: PlantsOpenApiOptions = {}, path = 'plants') {
  return PlantsModule.forRoot({ database: DATABASE, guards: 'none', path, openApi });
}

describe('the OpenAPI document of an application with a store as a guest', () => {
  let warnings: unknown[];
  let app: INestApplication;
  let database: TestDatabase | undefined;

  afterEach(async () => {
    await app.close();
    await database?.drop();
    database = undefined;
  });

  async function create(metadata: ModuleMetadata): Promise<INestApplication> {
    @Module(metadata)
    class HostModule {}
    warnings = [];
    const logger = {
      log: () => undefined,
      warn: (message: unknown) => warnings.push(message),
      error: (message: unknown) => warnings.push(message),
    };
    app = await NestFactory.create(HostModule, { bodyParser: false, abortOnError: false, logger });
    return app;
  }

  /** As in Nest's own documentation. */
  function describeApp(): OpenAPIObject {
    const config = new DocumentBuilder().setTitle('Host').setVersion('2.0').addBearerAuth().build();
    return JSON.parse(JSON.stringify(SwaggerModule.createDocument(app, config))) as OpenAPIObject;
  }

  async function documentOf(...imports: NonNullable<ModuleMetadata['imports']>): Promise<OpenAPIObject> {
    await create({ imports });
    return describeApp();
  }

  it('should have the whole operation, the schemas, and a security scheme that is there', async () => {
    const document = await documentOf(store());
    const standalone = await generateOpenApi();
    expect(createPlantOf(document)).toEqual({ ...createPlantOf(standalone), security: [{ bearer: [] }] });
    expect(document.components?.schemas).toEqual(standalone.components?.schemas);
    await expectValidOpenApi(document);
    expect(warnings).toEqual([]);
  });

  it('should keep the paths and schemas of its own, those of the same names too', async () => {
    const controllers = [CatalogueController];
    await create({ controllers });
    const before = describeApp();
    expect(Object.keys(before.components?.schemas ?? {})).toEqual(['Plant', 'Error']);
    await app.close();

    await create({ controllers, imports: [store({ namePrefix: 'Store' })] });
    const after = describeApp();
    const { StoreNewPlant, StorePlant, StoreError, ...schemas } = after.components?.schemas ?? {};
    const { '/plants': path, ...paths } = after.paths;
    expect({ ...after, paths, components: { ...after.components, schemas } }).toEqual(before);

    const standalone = await generateOpenApi();
    expect({ NewPlant: StoreNewPlant, Plant: StorePlant, Error: StoreError }).toEqual(standalone.components?.schemas);
    const prefixed = JSON.stringify(standalone.paths['/plants']).replaceAll(SCHEMAS, `${SCHEMAS}Store`);
    const { post } = JSON.parse(prefixed) as { post: object };
    const names = { operationId: 'createStorePlant', tags: ['StorePlants'], security: [{ bearer: [] }] };
    expect(path).toEqual({ post: { ...post, ...names } });
    await expectValidOpenApi(after);
    expect(warnings).toEqual([]);
  });

  it('should come with a warning if schemas of the same names have no prefix', async () => {
    await create({ controllers: [CatalogueController], imports: [store()] });
    describeApp();
    const duplicate = (name: string): unknown => expect.stringContaining(`Duplicate DTO detected: "${name}"`);
    expect(warnings).toEqual(expect.arrayContaining([duplicate('Plant'), duplicate('Error')]));
  });

  it('should have several stores apart', async () => {
    const document = await documentOf(store(), store({ namePrefix: 'Tree' }, 'garden/trees'));
    const operations = [createPlantOf(document), createPlantOf(document, '/garden/trees')];
    expect(operations).toMatchObject([
      { operationId: 'createPlant', tags: ['Plants'] },
      { operationId: 'createTreePlant', tags: ['TreePlants'] },
    ]);
    const schemas = ['NewPlant', 'Plant', 'Error', 'TreeNewPlant', 'TreePlant', 'TreeError'];
    expect(Object.keys(document.components?.schemas ?? {}).sort()).toEqual(schemas.sort());
    await expectValidOpenApi(document);
    expect(warnings).toEqual([]);
  });

  it('should name the security scheme of its options, or no scheme', async () => {
    const document = await documentOf(
      store({ securityScheme: 'host-jwt' }),
      store({ namePrefix: 'Tree', securityScheme: false }, 'trees'),
    );
    expect(createPlantOf(document).security).toEqual([{ 'host-jwt': [] }]);
    expect(createPlantOf(document, '/trees')).not.toHaveProperty('security');
  });

  it.each(['forRoot', 'forRootAsync'] as const)('should follow the error statuses of %s', async (method) => {
    const options = { database: DATABASE };
    const extras = { guards: 'none', errorStatus: 'semantic' } as const;
    const store =
      method === 'forRoot'
        ? PlantsModule.forRoot({ ...options, ...extras })
        : PlantsModule.forRootAsync({ ...extras, useFactory: () => Promise.resolve(options) });
    const document = await documentOf(store);
    const { responses } = createPlantOf(await generateOpenApi({ ERROR_STATUS: 'semantic' }));
    expect(createPlantOf(document).responses).toEqual(responses);
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '401', '503']));
  });

  it('should be the same for every application that a module makes', async () => {
    const module = store();
    const document = await documentOf(module);
    await app.close();
    expect(await documentOf(module)).toEqual(document);
  });

  it('should give an operation an id for each of its versions', async () => {
    const version: PlantsModuleExtras['version'] = ['1', '2', VERSION_NEUTRAL];
    await create({
      imports: ['Tree', 'Herb'].map((namePrefix) =>
        PlantsModule.forRoot({
          database: DATABASE,
          guards: 'none',
          path: namePrefix,
          version,
          openApi: { namePrefix },
        }),
      ),
    });
    app.enableVersioning({ type: VersioningType.URI });
    const document = describeApp();
    expect(Object.keys(document.paths).sort()).toEqual(
      ['/Herb', '/Tree', '/v1/Herb', '/v1/Tree', '/v2/Herb', '/v2/Tree'].sort(),
    );
    await expectValidOpenApi(document);
  });

  it('should have the path where the store answers, before and after the start', async () => {
    database = await createTestDatabase();
    const options = { database: { url: database.url }, version: '1', openApi: { namePrefix: 'Store' } };
    await create({ imports: [PlantsModule.forRoot({ ...options, guards: 'none' })] });
    app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI });
    const document = describeApp();
    expect(Object.keys(document.paths)).toEqual(['/api/v1/plants']);
    await expectValidOpenApi(document);

    await app.listen(0, '127.0.0.1');
    expect(describeApp()).toEqual(document);
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    const send = async (body: string): Promise<[status: number, body: unknown]> => {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/plants`, { method: 'POST', headers, body });
      return [response.status, await response.json()];
    };
    expect(await send('{"id": 9007199254740993, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
    expect(await send('{"id": 1.5, "name": null}')).toMatchObject([400, { error: 40003 }]);
  });
});
