import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo, Server } from 'node:net';
import { exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { type Platform, PLATFORMS } from '../support/host/platforms.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

describe(exemptPlantsFromBodyParser.name, () => {
  let database: TestDatabase;
  let app: INestApplication;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function create<App extends INestApplication>(platform: Platform): Promise<App> {
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' })] })
    class HostModule {}
    const adapter = adapterOf(platform);
    const created = await NestFactory.create<App>(HostModule, adapter, { logger: false, abortOnError: false });
    app = created;
    return created;
  }

  async function post(body: string, type = 'application/json'): Promise<[status: number, body: unknown]> {
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    const headers = { 'Content-Type': type };
    const response = await fetch(`http://127.0.0.1:${port}/plants`, { method: 'POST', headers, body });
    return [response.status, await response.json()];
  }

  it.each(PLATFORMS)('should do no harm if it is called twice, on %s', async (platform) => {
    await create(platform);
    exemptPlantsFromBodyParser(app);
    exemptPlantsFromBodyParser(app);
    expect(await post(PLANT)).toEqual([200, { name: 'Rose' }]);
  });

  it.each(PLATFORMS)('should refuse to come when the application listens, on %s', async (platform) => {
    await create(platform);
    await app.listen(0, '127.0.0.1');
    expect(() => {
      exemptPlantsFromBodyParser(app);
    }).toThrow(/comes too late: call it right after NestFactory\.create\(\)/);
  });

  it('should refuse to come behind a body parser on Express', async () => {
    const host = await create<NestExpressApplication>('express');
    host.useBodyParser('json');
    expect(() => {
      exemptPlantsFromBodyParser(host);
    }).toThrow(/comes too late: .* before any body parser/);
  });

  it('should let every parser that Fastify has go its own way', async () => {
    const host = await create<NestFastifyApplication>('fastify');
    exemptPlantsFromBodyParser(host);
    host.useBodyParser('*', {}, (_request, _body, done) => {
      done(null, 'parsed');
    });
    expect(await post(PLANT)).toEqual([200, { name: 'Rose' }]);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
  });

  it('should give the request its own media type back in what is refused', async () => {
    await create('express');
    exemptPlantsFromBodyParser(app);
    expect(await post(PLANT, 'text/plain')).toMatchObject([
      400,
      { error: 41500, message: expect.stringContaining('"text/plain"') as unknown },
    ]);
  });
});
