import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Global, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import {
  PlantsAuthModule,
  BearerAuthGuard,
  PlantsHealth,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
} from '../../src/index.js';
import type { PlantsModuleRouteOptions } from '../../src/plants/plants.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { rejectionOf } from '../support/rejection.js';

const TOKEN = 'the-token-of-the-only-client';

describe('the options of a store in an application', () => {
  let databases: TestDatabase[];
  let app: NestExpressApplication | undefined;

  beforeAll(async () => {
    databases = [await createTestDatabase(), await createTestDatabase()];
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  function options(index = 0): Pick<PlantsModuleOptions, 'database'> {
    return { database: { url: databases[index]?.url ?? '' } };
  }

  async function start(imports: NonNullable<DynamicModule['imports']>): Promise<string> {
    @Module({ imports })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, {
      logger: false,
      abortOnError: false,
      rawBody: true,
    });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  }

  async function post(url: string, body: object, headers: object = {}): Promise<unknown> {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } };
    const response = await fetch(`${url}/plants`, { ...init, body: JSON.stringify(body) });
    return [response.status, await response.json()];
  }

  describe('with BearerAuthGuard', () => {
    const guarded = (imports?: PlantsModuleRouteOptions['imports']): DynamicModule =>
      PlantsModule.forRoot({ ...options(), guards: [BearerAuthGuard], ...(imports && { imports }) });
    const auth = (): DynamicModule => PlantsAuthModule.forRoot({ accessTokens: [TOKEN] });

    function exporting(decorate: ClassDecorator): Type {
      const module = auth();
      @decorate
      @Module({ imports: [module], exports: [module] })
      class SecurityModule {}
      return SecurityModule;
    }

    it.each<[string, () => DynamicModule[]]>([
      ['nothing imported', () => [guarded()]],
      ['PlantsAuthModule in addition to the store', () => [auth(), guarded()]],
    ])('should say which option is missing, with %s', async (_, imports) => {
      const failure = await rejectionOf(start(imports()));
      expect((failure as Error).message).toMatch(
        /^imports: of a module that uses BearerAuthGuard is without PlantsAuthModule, should have PlantsAuthModule\.forRoot\({ accessTokens }\)/m,
      );
    });

    it.each<[string, () => NonNullable<DynamicModule['imports']>]>([
      ['imported', () => [guarded([auth()])]],
      ['behind a module of the application', () => [guarded([exporting(() => undefined)])]],
      ['global', () => [guarded(), exporting(Global())]],
    ])('should find PlantsAuthModule %s', async (_, imports) => {
      const url = await start(imports());
      expect(await post(url, [])).toMatchObject([400, { error: 40100 }]);
      expect(await post(url, {}, { Authorization: `Bearer ${TOKEN}` })).toMatchObject([400, { error: 40003 }]);
    });

    it('should tell of PlantsAuthModule what is wrong with its own options', async () => {
      const failure = await rejectionOf(start([guarded([PlantsAuthModule.forRoot({ accessTokens: [] })])]));
      expect((failure as Error).message).toMatch(
        /^The options of PlantsAuthModule cannot be used:\naccessTokens: is empty/,
      );
    });
  });

  it('should let a feature of the application have the service of the one of two stores that it imports', async () => {
    const guards = 'none';
    const stores = [
      PlantsModule.forRoot({ ...options(0), guards }),
      PlantsModule.forRoot({ ...options(1), guards, path: 'trees' }),
    ] as const;

    @Injectable()
    class Forest {
      constructor(
        readonly trees: PlantsService,
        readonly health: PlantsHealth,
      ) {}
    }
    @Module({ imports: [stores[1]], providers: [Forest] })
    class ForestModule {}

    await start([...stores, ForestModule]);
    const forest = app?.get(Forest, { strict: false });
    await forest?.health.check();
    expect(await forest?.trees.create({ id: 1n, name: 'Oak' })).toEqual({ name: 'Oak' });
    expect(await databases[0]?.query('SELECT name FROM plants')).toEqual([]);
    expect(await databases[1]?.query('SELECT name FROM plants')).toEqual([{ name: 'Oak' }]);
  });
});
