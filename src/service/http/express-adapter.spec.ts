import {
  Controller,
  type INestApplication,
  Logger,
  type MiddlewareConsumer,
  Module,
  Param,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestObserver } from '../../http/request-context.js';
import { PlantStoreAdapter } from './express-adapter.js';

@Controller()
class AnyController {
  @Post('any')
  answer(): string {
    return 'made';
  }

  @Post('fails')
  fail(): never {
    throw new Error('of the handler');
  }

  @Post('other/:id')
  answerOf(@Param('id') id: string): string {
    return `of ${id}`;
  }
}

@Module({ controllers: [AnyController] })
class AnyModule {}

const seen = jest.fn();

function see(request: IncomingMessage, _response: unknown, next: () => void): void {
  seen(request.method);
  next();
}

@Module({ imports: [AnyModule] })
class MiddlewareModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(see).forRoutes('any');
  }
}

describe(PlantStoreAdapter.name, () => {
  let app: INestApplication | undefined;
  /** How many requests Express has routed. */
  let routed: () => number;

  afterEach(async () => {
    jest.restoreAllMocks();
    seen.mockReset();
    await app?.close();
  });

  interface Given {
    module?: new () => object;
    observer?: RequestObserver;
    prepare?: (app: INestApplication) => void;
  }

  /** Starts an application, and returns what posts to it. */
  async function start(given: Given = {}): Promise<(path: string, method?: string) => Promise<Response>> {
    const { module = AnyModule, observer = { answered: () => undefined }, prepare = () => undefined } = given;
    const times = { drainDelay: 0, shutdownTimeout: 1000, storageTimeout: 1000 };
    const adapter = new PlantStoreAdapter({ errorStatus: 'contract', requestTimeout: 10_000, ...times }, 10, [
      observer,
    ]);
    const { mock } = jest.spyOn(adapter.getInstance<{ handle: () => void }>(), 'handle');
    routed = () => mock.calls.length;
    app = await NestFactory.create(module, adapter, { logger: ['error'], bodyParser: false });
    prepare(app);
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    return (path, method = 'POST') => fetch(`${url}${path}`, { method });
  }

  it('should call the handler of exactly its path, and have Express route all else', async () => {
    const post = await start();
    expect(await (await post('/any')).text()).toBe('made');
    expect(routed()).toBe(0);
    expect(await (await post('/any?a=1')).text()).toBe('made');
    expect(await (await post('/other/7')).text()).toBe('of 7');
    expect(await (await post('/other/:id')).text()).toBe('of :id');
    expect((await post('/any', 'GET')).status).toBe(404);
    expect(routed()).toBe(4);
  });

  it.each([
    ['each request', undefined],
    ['requests of this path', '/any'],
    ['requests of several paths', ['/elsewhere', '/any']],
    ['requests of a pattern', '/a*rest'],
  ])('should have Express route if a middleware of app.use() sees %s', async (_, path) => {
    const use = path === undefined ? [see] : [path, see];
    const post = await start({ prepare: (application) => application.use(...use) });
    expect(await (await post('/any')).text()).toBe('made');
    expect(seen).toHaveBeenCalledWith('POST');
  });

  it('should have Express route if a middleware of a module sees the path', async () => {
    const post = await start({ module: MiddlewareModule });
    expect(await (await post('/any')).text()).toBe('made');
    expect(seen).toHaveBeenCalledWith('POST');
  });

  it('should not have Express route if a middleware sees another path only', async () => {
    const post = await start({ prepare: (application) => application.use('/anywhere', see) });
    expect(await (await post('/any')).text()).toBe('made');
    expect(routed()).toBe(0);
  });

  it('should call an observer once for each answer', async () => {
    const answered = jest.fn<(response: ServerResponse) => void>();
    const post = await start({ observer: { answered } });
    await post('/any');
    await post('/any', 'GET');
    expect(answered.mock.calls.map(([{ req }]) => req.method)).toEqual(['POST', 'GET']);
  });

  it('should log an answer to a failure that fails, and end its connection', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const failing = {
      catch: () => {
        throw new Error('of the filter');
      },
    };
    const post = await start({ prepare: (application) => application.useGlobalFilters(failing) });
    await expect(post('/fails')).rejects.toThrow('fetch failed');
    expect(error).toHaveBeenCalledWith('The answer to a failure failed', expect.stringContaining('of the filter'));
    expect(await (await post('/any')).text()).toBe('made');
  });
});
