import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, Post, Put, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { exemptPlantsFromBodyParser, PlantsModule } from '../src/index.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

@Controller('plants')
class PlantsOfTheHostController {
  @Put()
  replace(@Body() body: unknown): unknown {
    return { replaced: body };
  }
}

@Controller()
class ResourcesController {
  @Post(':resource')
  create(@Body() body: unknown): unknown {
    return { created: body };
  }
}

describe('routes of a host on Express that take requests before the store does', () => {
  let database: TestDatabase;
  let app: NestExpressApplication;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function startWith(...controllers: Type[]): Promise<void> {
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' })], controllers })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { logger: false, abortOnError: false });
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');
  }

  async function send(method: string): Promise<[status: number, body: unknown]> {
    const headers = { 'Content-Type': 'application/json' };
    const body = '{"id": 9007199254740993, "name": "Rose"}';
    const response = await fetch(`${await app.getUrl()}/plants`, { method, headers, body });
    return [response.status, await response.json()];
  }

  it('should have their bodies where they have another method, and the store its own', async () => {
    await startWith(PlantsOfTheHostController);
    expect(await send('PUT')).toMatchObject([200, { replaced: { name: 'Rose' } }]);
    expect(await send('POST')).toEqual([200, { name: 'Rose' }]);
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
  });

  it('should have their bodies where their path is wider', async () => {
    await startWith(ResourcesController);
    expect(await send('POST')).toMatchObject([201, { created: { name: 'Rose' } }]);
  });
});
