import { Controller, type INestApplication, Logger, type MiddlewareConsumer, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Express } from 'express';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { readEnvironment } from '../config/environment.js';
import { PlantStoreAdapter } from './express-adapter.js';

@Controller()
class AnyController {
  @Post(['any', 'other/:id'])
  answer(): string {
    return 'made';
  }

  @Post('fails')
  fail(): never {
    throw new Error('of the handler');
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
  let app: INestApplication;
  let adapter: PlantStoreAdapter;
  const answered = jest.fn<(response: ServerResponse) => void>();
  /** How many requests Express has routed. */
  let routed: () => number;

  afterEach(async () => {
    jest.resetAllMocks();
    jest.restoreAllMocks();
    await app.close();
  });

  /** Starts an application, and returns what posts to it. */
  async function start(
    prepare: (app: INestApplication) => unknown = () => undefined,
    module: new () => object = AnyModule,
  ): Promise<(path: string, method?: string) => Promise<string>> {
    adapter = new PlantStoreAdapter(readEnvironment({}).environment, [{ answered }]);
    const { mock } = jest.spyOn(adapter.getInstance<{ handle: () => void }>(), 'handle');
    routed = () => mock.calls.length;
    app = await NestFactory.create(module, adapter, { logger: ['error'], bodyParser: false });
    prepare(app);
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    return async (path, method = 'POST') => (await fetch(`${url}${path}`, { method })).text();
  }

  it('should call the handler of exactly its path, have Express route all else, and tell of each answer once', async () => {
    const post = await start((application) => application.use('/anywhere', see));
    expect([await post('/any'), routed()]).toEqual(['made', 0]);
    for (const path of ['/any?a=1', '/other/7', '/other/:id']) expect(await post(path)).toBe('made');
    expect([await post('/any', 'GET'), routed()]).toEqual([expect.stringContaining('404'), 4]);
    expect(answered.mock.calls.map(([{ req }]) => req.method)).toEqual(['POST', 'POST', 'POST', 'POST', 'GET']);
  });

  it.each<[string, (app: INestApplication) => unknown, new () => object]>([
    ['each request', (application) => application.use(see), AnyModule],
    ['requests of several paths', (application) => application.use(['/elsewhere', '/any'], see), AnyModule],
    ['requests of a pattern', (application) => application.use('/a*rest', see), AnyModule],
    ['the path, for a module', () => undefined, MiddlewareModule],
  ])('should have Express route if a middleware sees %s', async (_, prepare, module) => {
    expect(await (await start(prepare, module))('/any')).toBe('made');
    expect(seen).toHaveBeenCalledWith('POST');
  });

  // An exchange of prototypes for each request is what makes Express slow.
  it('should leave Express no prototype to exchange', async () => {
    const post = await start();
    const { request, response } = adapter.getInstance<Express>();
    const prototypes: unknown[] = [];
    const note = (...both: unknown[]): number =>
      prototypes.push(...both.map((each) => Object.getPrototypeOf(each) as unknown));
    (adapter.getHttpServer() as Server).prependOnceListener('request', note);
    await post('/other/7');
    expect([prototypes[0] === request, prototypes[1] === response]).toEqual([true, true]);
  });

  it('should log an answer to a failure that fails, and end its connection', async () => {
    const post = await start((application) =>
      application.useGlobalFilters({
        catch: () => {
          throw new Error('of the filter');
        },
      }),
    );
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    await expect(post('/fails')).rejects.toThrow('fetch failed');
    expect(error).toHaveBeenCalledWith('The answer to a failure failed', expect.stringContaining('of the filter'));
    expect(await post('/any')).toBe('made');
  });
});
