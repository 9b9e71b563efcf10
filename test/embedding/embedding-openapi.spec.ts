import { afterEach, describe, expect, it } from '@jest/globals';
import { type CanActivate, type INestApplication, Module, type ModuleMetadata, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { AddressInfo } from 'node:net';
import { PlantsModule } from '../../src/index.js';
import type { PlantsGuards } from '../../src/plants/plants.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import { expectValidOpenApi } from '../support/documents/valid-openapi.js';

class LetEverybodyIn implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

const DATABASE = { url: 'postgresql://localhost/plants' };

function store(extras: { path?: string; securityScheme?: string; guards?: PlantsGuards } = {}) {
  return PlantsModule.forRoot({ database: DATABASE, guards: [LetEverybodyIn], ...extras });
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

  it('should have several stores, with the same schemas', async () => {
    const document = await documentOf(store(), store({ path: 'garden/trees' }));
    const [plants, trees] = [createPlantOf(document), createPlantOf(document, '/garden/trees')];
    expect(trees).toEqual(plants);
    expect(Object.keys(document.components?.schemas ?? {}).sort()).toEqual(['Error', 'NewPlant', 'Plant']);
    expect(warnings).toEqual([]);
  });

  it('should name the security scheme of its options', async () => {
    const document = await documentOf(store({ securityScheme: 'host-jwt' }));
    expect(createPlantOf(document).security).toEqual([{ 'host-jwt': [] }]);
  });

  it("should ask for no credential if guards is 'none'", async () => {
    expect(createPlantOf(await documentOf(store({ guards: 'none' })))).not.toHaveProperty('security');
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

  it('should have the path where the store answers, before and after the start', async () => {
    database = await createTestDatabase();
    const options = { database: { url: database.url }, version: '1' };
    await create({ imports: [PlantsModule.forRoot({ ...options, guards: [LetEverybodyIn] })] });
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
