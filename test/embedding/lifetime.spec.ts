import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ExecutionContext, Global, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { LazyModuleLoader, NestFactory, REQUEST } from '@nestjs/core';
import {
  BearerAuthGuard,
  PlantsAuthModule,
  type PlantsAuthModuleOptions,
  PlantsModule,
  PlantsService,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

@Injectable({ scope: Scope.REQUEST })
class Tenant {
  constructor(@Inject(REQUEST) readonly request: unknown) {}
}
@Global()
@Module({ providers: [Tenant], exports: [Tenant] })
class TenantModule {}
@Module({})
class WorkerModule {}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('options that depend on the request', () => {
  it.each([REQUEST, Tenant])('should keep the application from starting, with the reason: %p', async (token) => {
    const inject = [token];
    const options = (): PlantsAuthModuleOptions => ({ accessTokens: [TOKEN] });
    const useFactory = () => ({ database: { url: database.url } });
    for (const [name, module] of [
      ['PlantsModule', PlantsModule.forRootAsync({ inject, useFactory, guards: 'none' })],
      ['PlantsModule', PlantsModule.forRootAsync({ inject, useFactory, path: false })],
      ['PlantsAuthModule', PlantsAuthModule.forRootAsync({ inject, useFactory: options })],
    ] as const)
      await expect(Host.start({ imports: [TenantModule, module] })).rejects.toThrow(
        `The options of ${name} cannot be used:\ninject: depends on the request, should have only what is there at the start`,
      );
  });
});

describe('a store in a module that is loaded lazily', () => {
  const store = (): object => PlantsModule.forRoot({ database: { url: database.url }, path: false });

  it('should fail when it is loaded into an application that listens, with the reason', async () => {
    const host = await Host.start({});
    const loading = host.app.get(LazyModuleLoader).load(() => store() as never);
    await expect(loading).rejects.toThrow('import PlantsModule where the application starts');
    await host.stop();
  });

  it('should fail with the first plant in an application without HTTP, with the reason', async () => {
    const context = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
    const loaded = await context.get(LazyModuleLoader).load(() => store() as never);
    const created = loaded.get(PlantsService).create({ id: 1n, name: 'Rose' });
    await expect(created).rejects.toThrow(/^The store has not started: .*loaded lazily: import PlantsModule/);
    await context.close();
  });
});

describe(BearerAuthGuard.name, () => {
  it('should refuse what is no request of HTTP with a sentence', async () => {
    const host = await Host.start({ imports: [PlantsAuthModule.forRoot({ accessTokens: [TOKEN] })] });
    const guard = host.app.get(BearerAuthGuard, { strict: false });
    const message = { args: ['PING'], getType: () => 'ws' } as unknown as ExecutionContext;
    await expect(guard.canActivate(message)).rejects.toThrow(
      'BearerAuthGuard protects routes of HTTP: protect handlers of "ws"',
    );
    await host.stop();
  });
});
