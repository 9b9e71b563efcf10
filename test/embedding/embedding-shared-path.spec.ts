import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { All, Body, Controller, Get, Module, Post, Put, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { type Platform, PLATFORMS } from '../support/host/platforms.js';
import { rejectionOf } from '../support/rejection.js';

@Controller('plants')
class SameMethodController {
  @Post()
  create(@Body() body: unknown): unknown {
    return { host: body ?? {} };
  }
}

@Controller('plants')
class OtherMethodsController {
  @Get()
  list(): unknown {
    return { host: [] };
  }

  @Put()
  replace(@Body() body: unknown): unknown {
    return { host: body ?? {} };
  }
}

@Controller(':resource')
class ParameterController {
  @Post()
  create(@Body() body: unknown): unknown {
    return { host: body ?? {} };
  }
}

@Controller()
class WildcardController {
  @All('*')
  answer(@Body() body: unknown): unknown {
    return { host: body ?? {} };
  }
}

@Controller('plants/:id')
class BelowController {
  @Get()
  find(): unknown {
    return { host: {} };
  }
}

/** Who answers POST, GET and PUT of the path: the store with a plant, a route of the host, or the host with its 404. */
type Answers = [post: string, get: string, put: string];
const STORE: Answers = ['store', '404', '404'];
const HOST: Answers = ['host', '404', '404'];
const BOTH: Answers = ['store', 'host', 'host'];
const DECLARED = /Method 'POST' already declared/;

describe.each(PLATFORMS)("routes of a host on the store's path on %s", (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.query('DELETE FROM plants');
  });
  afterAll(() => database.drop());

  type Order = 'before' | 'after' | 'in the importing module of';

  async function startWith(controller: Type, order: Order): Promise<void> {
    const controllers = [controller];
    @Module({ controllers })
    class FeatureModule {}
    const store = PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' });
    const imports = order === 'before' ? [FeatureModule, store] : [store, FeatureModule];
    @Module(order === 'in the importing module of' ? { imports: [store], controllers } : { imports })
    class HostModule {}

    const adapter = adapterOf(platform);
    const options = { logger: false, abortOnError: false } as const;
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, options);
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');
  }

  async function answerOf(method: string, path = '/plants'): Promise<string> {
    const headers = { 'Content-Type': 'application/json' };
    const body = method === 'GET' ? null : '{"id": 9007199254740993, "name": "Rose"}';
    const response = await fetch(`${await app.getUrl()}${path}`, { method, headers, body });
    const { host, name, statusCode } = (await response.json()) as Record<string, unknown>;
    if (name === 'Rose') return 'store';
    return host === undefined ? String(statusCode) : 'host';
  }

  it.each<[string, Order, Type, Record<Platform, Answers | RegExp>]>([
    ['its method', 'before', SameMethodController, { express: HOST, fastify: DECLARED }],
    ['its method', 'in the importing module of', SameMethodController, { express: HOST, fastify: DECLARED }],
    ['its method', 'after', SameMethodController, { express: STORE, fastify: DECLARED }],
    ['other methods', 'before', OtherMethodsController, { express: BOTH, fastify: BOTH }],
    ['other methods', 'in the importing module of', OtherMethodsController, { express: BOTH, fastify: BOTH }],
    ['other methods', 'after', OtherMethodsController, { express: BOTH, fastify: BOTH }],
    ['a parameter', 'before', ParameterController, { express: HOST, fastify: STORE }],
    ['a parameter', 'after', ParameterController, { express: STORE, fastify: STORE }],
    ['a wildcard', 'before', WildcardController, { express: ['host', 'host', 'host'], fastify: BOTH }],
    ['a wildcard', 'after', WildcardController, { express: BOTH, fastify: BOTH }],
  ])('with %s, registered %s the store', async (_, order, controller, { [platform]: expected }) => {
    const starting = startWith(controller, order);
    if (expected instanceof RegExp) {
      expect(((await rejectionOf(starting)) as Error).message).toMatch(expected);
      return;
    }
    await starting;
    expect([await answerOf('POST'), await answerOf('GET'), await answerOf('PUT')]).toEqual(expected);
    const stored = await database.query('SELECT id FROM plants');
    expect(stored).toEqual(expected[0] === 'store' ? [{ id: '9007199254740993' }] : []);
  });

  it('should take nothing from routes below the path', async () => {
    await startWith(BelowController, 'after');
    expect(await answerOf('GET', '/plants/1')).toBe('host');
    expect(await answerOf('POST')).toBe('store');
  });
});
