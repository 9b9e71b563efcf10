import { Controller, Logger, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestContext, type RequestObserver } from '../request-context.js';
import { PlantStoreAdapter } from './express-adapter.js';

@Controller()
class AnyController {
  @Post('any')
  answer(): string {
    return 'made';
  }

  @Post('other/:id')
  answerOf(@Param('id') id: string): string {
    return `of ${id}`;
  }

  @Post('fails')
  fail(): never {
    throw new Error('of the handler');
  }
}

@Module({ controllers: [AnyController] })
class AnyModule {}

describe(PlantStoreAdapter.name, () => {
  let app: INestApplication | undefined;

  afterEach(async () => {
    jest.restoreAllMocks();
    await app?.close();
  });

  /** How many requests Express has routed. */
  let routed: () => number;

  async function listen(...observers: RequestObserver[]): Promise<string> {
    return listenWith(() => undefined, ...observers);
  }

  async function listenWith(
    prepare: (app: INestApplication) => void,
    ...observers: RequestObserver[]
  ): Promise<string> {
    const times = { drainDelay: 0, shutdownTimeout: 1000, storageTimeout: 1000 };
    const adapter = new PlantStoreAdapter({ errorStatus: 'contract', requestTimeout: 10_000, ...times }, 10, observers);
    const { mock } = jest.spyOn(adapter.getInstance<{ handle: () => void }>(), 'handle');
    routed = () => mock.calls.length;
    app = await NestFactory.create(AnyModule, adapter, { logger: ['error'], bodyParser: false });
    prepare(app);
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  }

  it('should call an observer once for each answer', async () => {
    const answered = jest.fn<(response: ServerResponse) => void>();
    const url = await listen({ answered });
    const response = await fetch(`${url}/any`, { method: 'POST' });
    expect([response.status, await response.text()]).toEqual([201, 'made']);
    expect(answered).toHaveBeenCalledTimes(1);
    const notes = answered.mock.calls.map(([answer]) => requestContext(answer));
    expect(notes).toEqual([expect.objectContaining({ error: 0, requestId: response.headers.get('x-request-id') })]);
  });

  it('should answer, log and call the others if an observer fails', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const fail = (): never => {
      throw new Error('of the observer');
    };
    const answered = jest.fn();
    const url = await listen({ answered: fail }, { answered });
    for (const text of ['made', 'made']) {
      expect(await (await fetch(`${url}/any`, { method: 'POST' })).text()).toBe(text);
    }
    expect(answered).toHaveBeenCalledTimes(2);
    expect(error).toHaveBeenCalledTimes(2);
    expect(error).toHaveBeenCalledWith('An observer of requests failed', expect.stringContaining('of the observer'));
  });

  it('should have Express route what is not exactly a path of POST', async () => {
    const url = await listen();
    const post = async (path: string, method = 'POST'): Promise<string> =>
      (await fetch(`${url}${path}`, { method })).text();
    expect(await post('/any')).toBe('made');
    expect(routed()).toBe(0);
    expect([await post('/any?a=1'), await post('/other/7')]).toEqual(['made', 'of 7']);
    expect(routed()).toBe(2);
    await post('/any', 'GET');
    expect(routed()).toBe(3);
  });

  it.each([
    ['each request', '/'],
    ['requests of this path', '/any'],
  ])('should have Express route if a middleware sees %s', async (_, path) => {
    const seen = jest.fn();
    const url = await listenWith((application) =>
      application.use(path, (request: IncomingMessage, _response: unknown, next: () => void) => {
        seen(request.method);
        next();
      }),
    );
    expect(await (await fetch(`${url}/any`, { method: 'POST' })).text()).toBe('made');
    expect(seen).toHaveBeenCalledWith('POST');
  });

  it('should not have Express route if a middleware sees another path only', async () => {
    const url = await listenWith((application) => application.use('/elsewhere', () => undefined));
    expect(await (await fetch(`${url}/any`, { method: 'POST' })).text()).toBe('made');
    expect(routed()).toBe(0);
  });

  it('should log an answer to a failure that fails, and end its connection', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const failing = {
      catch: () => {
        throw new Error('of the filter');
      },
    };
    const url = await listenWith((application) => application.useGlobalFilters(failing));
    await expect(fetch(`${url}/fails`, { method: 'POST' })).rejects.toThrow('fetch failed');
    expect(error).toHaveBeenCalledWith('The answer to a failure failed', expect.stringContaining('of the filter'));
    expect(await (await fetch(`${url}/any`, { method: 'POST' })).text()).toBe('made');
  });
});
