import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, NotFoundException } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { AuthModule, BearerAuthGuard, PlantsModule } from '../src/index.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

@Controller('orders')
class OrdersController {
  @Get()
  find(): never {
    throw new NotFoundException('no such order');
  }
}

interface Host {
  app: NestExpressApplication;
  url: string;
}

async function startHost(database: TestDatabase, token: string): Promise<Host> {
  @Module({
    imports: [PlantsModule.forRoot({ database: { url: database.url } }), AuthModule.forRoot({ accessTokens: [token] })],
    controllers: [OrdersController],
    providers: [{ provide: APP_GUARD, useExisting: BearerAuthGuard }],
  })
  class HostModule {}

  const app = await NestFactory.create<NestExpressApplication>(HostModule, { bodyParser: false, logger: false });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}` };
}

async function send(url: string, token: string, body?: string): Promise<[status: number, body: unknown]> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const response = await fetch(url, body === undefined ? { headers } : { method: 'POST', headers, body });
  return [response.status, await response.json()];
}

describe('an application with two stores as guests in one process', () => {
  const tokens = ['the-token-of-the-first-host', 'the-token-of-the-second-host'] as const;
  let database: TestDatabase;
  let hosts: [Host, Host];

  beforeAll(async () => {
    database = await createTestDatabase();
    hosts = [await startHost(database, tokens[0]), await startHost(database, tokens[1])];
  });
  afterAll(async () => {
    await Promise.all(hosts.map(({ app }) => app.close()));
    await database.drop();
  });

  it('should create plants, exactly', async () => {
    const plant = '{"id": 9007199254740993, "name": "Rose"}';
    expect(await send(`${hosts[0].url}/plants`, tokens[0], plant)).toEqual([200, { name: 'Rose' }]);
    expect(await send(`${hosts[0].url}/plants`, tokens[0], plant)).toEqual([
      400,
      { error: 40901, message: expect.stringContaining('9007199254740993') },
    ]);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
  });

  it('should take the tokens of its own store only', async () => {
    for (const [own, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      expect(await send(`${hosts[own].url}/plants`, tokens[own], '[]')).toMatchObject([400, { error: 40001 }]);
      expect(await send(`${hosts[own].url}/plants`, tokens[other], '[]')).toMatchObject([400, { error: 40101 }]);
    }
  });

  it('should leave the answers of its other routes as they were', async () => {
    expect(await send(`${hosts[0].url}/orders`, tokens[0])).toMatchObject([404, { message: 'no such order' }]);
  });
});
