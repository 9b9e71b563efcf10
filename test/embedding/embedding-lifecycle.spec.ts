import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import { ApiError, PlantsModule, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';

const ID = 9_007_199_254_740_993n;
const PLANT = `{"id": ${ID}, "name": "Rose"}`;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Code of a host's that creates plants by itself. */
@Injectable()
class Nursery {
  constructor(readonly plants: PlantsService) {}
}

async function post(app: NestExpressApplication): Promise<[number, unknown]> {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/plants`;
  const response = await fetch(url, { method: 'POST', headers: JSON_TYPE, body: PLANT });
  return [response.status, await response.json()];
}

describe('the life of a store in an application', () => {
  let database: TestDatabase;
  let running: INestApplicationContext[];

  beforeEach(async () => {
    database = await createTestDatabase();
    running = [];
  });
  afterEach(async () => {
    for (const application of running) await application.close();
    await database.drop();
  });

  function started<Application extends INestApplicationContext>(application: Application): Application {
    running.push(application);
    return application;
  }

  function hostModule(): new () => object {
    const store = PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' });

    // A feature of the host's that has the store for itself, and hands it on.
    @Module({ imports: [store], providers: [Nursery], exports: [Nursery, store] })
    class NurseryModule {}

    @Module({ imports: [NurseryModule] })
    class HostModule {}
    return HostModule;
  }

  const ids = async (): Promise<unknown> => (await database.query('SELECT id FROM plants')).map(({ id }) => id);

  it('should need no HTTP', async () => {
    const context = started(await NestFactory.createApplicationContext(hostModule(), { logger: false }));
    const { plants } = context.get(Nursery);
    expect(plants).toBe(context.get(PlantsService, { strict: false }));

    expect(await plants.create({ id: ID, name: 'Rose', tag: 'flower' }, { idempotencyKey: 'key' })).toEqual({
      name: 'Rose',
      tag: 'flower',
    });
    expect(await plants.create({ id: ID, name: 'Rose', tag: 'flower' }, { idempotencyKey: 'key' })).toEqual({
      name: 'Rose',
      tag: 'flower',
    });
    expect(await ids()).toEqual([String(ID)]);
    for (const [key, error] of [
      [undefined, 40901],
      ['key', 40902],
    ] as const) {
      const creating = plants.create({ id: ID, name: 'Fern' }, { idempotencyKey: key });
      const failure: unknown = await creating.catch((reason: unknown) => reason);
      expect(failure).toBeInstanceOf(ApiError);
      expect(failure).toMatchObject({ error });
      expect((failure as ApiError).message).toContain(String(ID));
    }
  });

  it('should have no route, and need no guards, if its path is false', async () => {
    const store = PlantsModule.forRoot({ database: { url: database.url }, path: false });
    @Module({ imports: [store], providers: [Nursery] })
    class HostModule {}
    const app = started(await NestFactory.create<NestExpressApplication>(HostModule, { logger: false }));
    await app.listen(0, '127.0.0.1');
    expect(await post(app)).toMatchObject([404, { message: 'Cannot POST /plants' }]);
    expect(await app.get(Nursery).plants.create({ id: ID, name: 'Rose' })).toEqual({ name: 'Rose' });
    expect(await ids()).toEqual([String(ID)]);
  });

  it('should answer in a testing module on Fastify, without a socket', async () => {
    const testing = await Test.createTestingModule({ imports: [hostModule()] }).compile();
    const options = { rawBody: true, logger: false } as const;
    const app = started(testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), options));
    await app.init();
    const inject = { method: 'POST', url: '/plants', headers: JSON_TYPE, payload: PLANT } as const;
    const created = await app.inject(inject);
    expect([created.statusCode, created.json()]).toEqual([200, { name: 'Rose' }]);
    expect(await ids()).toEqual([String(ID)]);
  });

  it('should let an application be closed again', async () => {
    const app = await NestFactory.create<NestExpressApplication>(hostModule(), { logger: false, rawBody: true });
    await app.listen(0, '127.0.0.1');
    expect(await post(app)).toEqual([200, { name: 'Rose' }]);
    await Promise.all([app.close(), app.close()]);
    await app.close();
  });
});
