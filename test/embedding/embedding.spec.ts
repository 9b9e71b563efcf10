import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, NotFoundException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule, type Principal, TokenVerifier } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';

const TOKENS = { plants: 'the-token-of-the-first-store', trees: 'the-token-of-the-second-store' };
/** What its verifier can't tell of. */
const UNDECIDED = 'a-token-of-which-nothing-is-known';
type Store = keyof typeof TOKENS;

/** A host's own way to tell what a token is worth. */
class TreesVerifier extends TokenVerifier {
  verify(token: string): Promise<Principal | undefined> {
    if (token === UNDECIDED) return Promise.reject(new Error('the sessions are away'));
    return Promise.resolve(token === TOKENS.trees ? { name: 'trees', scopes: ['plants:create'] } : undefined);
  }
}

@Controller('orders')
class OrdersController {
  @Get()
  find(): never {
    throw new NotFoundException('no such order');
  }
}

function hostOf(databases: Record<Store, TestDatabase>): new () => object {
  @Module({
    imports: [
      PlantsModule.forRoot({
        database: { url: databases.plants.url },
        guards: [BearerAuthGuard],
        imports: [PlantsAuthModule.forRoot({ accessTokens: [TOKENS.plants] })],
      }),
      PlantsModule.forRootAsync({
        path: 'garden/trees',
        guards: [BearerAuthGuard],
        imports: [PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: new TreesVerifier() }) })],
        errorStatus: 'semantic',
        useFactory: () => Promise.resolve({ database: { url: databases.trees.url }, bodyLimit: 100 }),
      }),
    ],
    controllers: [OrdersController],
  })
  class HostModule {}
  return HostModule;
}

describe('an application with two stores as guests', () => {
  let databases: Record<Store, TestDatabase>;
  let app: NestExpressApplication;
  let url: string;

  beforeAll(async () => {
    databases = { plants: await createTestDatabase(), trees: await createTestDatabase() };
    app = await NestFactory.create<NestExpressApplication>(hostOf(databases), { bodyParser: false, logger: false });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    url = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    await app.close();
    await databases.plants.drop();
    await databases.trees.drop();
  });

  async function post(path: string, token: string, body: string): Promise<[status: number, body: unknown]> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${url}/${path}`, { method: 'POST', headers, body });
    return [response.status, await response.json()];
  }

  it('should create plants exactly, each store in its own database', async () => {
    const plant = '{"id": 9007199254740993, "name": "Rose"}';
    expect(await post('plants', TOKENS.plants, plant)).toEqual([200, { name: 'Rose' }]);
    expect(await post('garden/trees', TOKENS.trees, plant)).toEqual([200, { name: 'Rose' }]);
    for (const database of Object.values(databases)) {
      expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
    }
  });

  it('should take the tokens of the one store only', async () => {
    expect(await post('plants', TOKENS.trees, '[]')).toMatchObject([400, { error: 40101 }]);
    expect(await post('garden/trees', TOKENS.plants, '[]')).toMatchObject([401, { error: 40101 }]);
  });

  it('should promise that nothing was written if the verifier cannot decide on a token', async () => {
    expect(await post('garden/trees', UNDECIDED, '{"id": 2, "name": "Oak"}')).toMatchObject([503, { error: 50300 }]);
    expect(await databases.trees.query('SELECT FROM plants WHERE id = 2')).toEqual([]);
  });

  it('should go by the options of the one store only', async () => {
    const long = JSON.stringify({ id: 1, name: 'x'.repeat(100) });
    expect(await post('plants', TOKENS.plants, long)).toMatchObject([200, {}]);
    expect(await post('garden/trees', TOKENS.trees, long)).toMatchObject([413, { error: 41300 }]);
  });

  it('should leave the answers of its other routes as they were', async () => {
    const response = await fetch(`${url}/orders`);
    expect([response.status, await response.json()]).toMatchObject([404, { message: 'no such order' }]);
  });
});

describe('an application with a store on a database without tables', () => {
  it('should not start, and say why', async () => {
    const database = await createTestDatabase({ migrated: false });
    const host = hostOf({ plants: database, trees: database });
    const app = await NestFactory.create(host, { logger: false, abortOnError: false });
    await expect(app.init()).rejects.toThrow(/is not migrated: it lacks .* Run `plant-store migrate`/);
    await app.close();
    await database.drop();
  });
});

describe('options of PlantsModule that cannot be used', () => {
  const guards = 'none';

  async function startWith(...stores: Parameters<typeof PlantsModule.forRoot>[0][]): Promise<void> {
    @Module({ imports: stores.map((store) => PlantsModule.forRoot(store)) })
    class HostModule {}
    const app = await NestFactory.create(HostModule, { logger: false, abortOnError: false });
    await app.init().finally(() => app.close());
  }

  it('should tell of every fault at once, of options from a factory too', async () => {
    const options = { database: { url: 'postgresql://localhost/plants', size: 0 }, bodylimit: 5 };
    const faults = /^bodylimit: is no option.*\ndatabase\.size: is 0, should be a whole number/m;
    await expect(startWith({ ...options, guards })).rejects.toThrow(faults);

    @Module({ imports: [PlantsModule.forRootAsync({ guards, useFactory: () => options })] })
    class HostModule {}
    const starting = NestFactory.create(HostModule, { logger: false, abortOnError: false });
    await expect(starting).rejects.toThrow(faults);
  });
});
