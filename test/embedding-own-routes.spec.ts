import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Inject, Module, Post, UseFilters, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { ApiExceptionFilter, AuthModule, BearerAuthGuard, PlantsModule, PlantsService } from '../src/index.js';
import { PLATFORMS } from './support/platforms.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const TOKEN = 'a-token-of-the-host-0123456789abcdef';

@Controller('orders')
@UseGuards(BearerAuthGuard)
class OrdersController {
  constructor(@Inject(PlantsService) private readonly plants: PlantsService) {}

  @Get()
  find(): object {
    return { orders: [] };
  }

  @Get('told-whole')
  @UseFilters(new ApiExceptionFilter('semantic'))
  findToldWhole(): object {
    return this.find();
  }

  @Post()
  async create(@Body() { id }: { id: number }): Promise<object> {
    await this.plants.create({ id: BigInt(id), name: 'Rose' });
    return { id };
  }
}

describe.each(PLATFORMS)("a host's own routes with BearerAuthGuard on %s", (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    const auth = AuthModule.forRoot({ accessTokens: [TOKEN], wrongTokenLimit: 1 });
    const store = PlantsModule.forRoot({ database: { url: database.url }, guards: [BearerAuthGuard], imports: [auth] });

    @Module({ imports: [auth, store], controllers: [OrdersController] })
    class HostModule {}

    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/orders`;
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(() => database.query('TRUNCATE plants'));

  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
  const order = (id: number): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { ...bearer(TOKEN).headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id }),
    });

  it('should refuse with the status that the number begins with, without any filter', async () => {
    expect((await fetch(url, bearer(TOKEN))).status).toBe(200);

    const refused = async (init?: RequestInit): Promise<[number, unknown]> => {
      const response = await fetch(url, init);
      return [response.status, await response.json()];
    };
    const message = expect.any(String) as unknown;
    expect(await refused()).toEqual([401, { error: 40100, message }]);
    expect(await refused(bearer('wrong'))).toEqual([401, { error: 40101, message }]);
    expect(await refused(bearer('wrong'))).toEqual([429, { error: 42900, message }]);
  });

  it('should refuse with all headers where they have ApiExceptionFilter', async () => {
    const response = await fetch(`${url}/told-whole`);
    expect(response.status).toBe(401);
    expect(response.headers.get('WWW-Authenticate')).toBe('Bearer realm="plants"');
    expect(await response.json()).toMatchObject({ error: 40100 });
  });

  it('should answer what PlantsService throws with its status', async () => {
    expect((await order(1)).status).toBe(201);
    const taken = await order(1);
    expect(taken.status).toBe(409);
    expect(await taken.json()).toMatchObject({ error: 40901 });
  });
});
