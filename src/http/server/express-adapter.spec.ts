import { Controller, Logger, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { notesOf, type RequestObserver } from '../request-notes.js';
import { PlantStoreAdapter } from './express-adapter.js';

@Controller()
class AnyController {
  @Post('any')
  answer(): string {
    return 'made';
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

  async function listen(...observers: RequestObserver[]): Promise<string> {
    const times = { drainDelay: 0, shutdownTimeout: 1000, storageTimeout: 1000 };
    const adapter = new PlantStoreAdapter({ errorStatus: 'contract', requestTimeout: 10_000, ...times }, 10, observers);
    app = await NestFactory.create(AnyModule, adapter, { logger: ['error'] });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  }

  it('should call an observer once for each request and each answer', async () => {
    const begin = jest.fn();
    const answered = jest.fn<(response: ServerResponse) => void>();
    const url = await listen({ begin, answered });
    const response = await fetch(`${url}/any`, { method: 'POST' });
    expect([response.status, await response.text()]).toEqual([201, 'made']);
    expect(begin).toHaveBeenCalledTimes(1);
    expect(answered).toHaveBeenCalledTimes(1);
    const notes = answered.mock.calls.map(([answer]) => notesOf(answer));
    expect(notes).toEqual([expect.objectContaining({ error: 0, requestId: response.headers.get('x-request-id') })]);
  });

  it('should answer, log and call the others where an observer fails', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const fail = (): never => {
      throw new Error('of the observer');
    };
    const answered = jest.fn();
    const url = await listen({ begin: fail, answered: fail }, { answered });
    for (const text of ['made', 'made']) {
      expect(await (await fetch(`${url}/any`, { method: 'POST' })).text()).toBe(text);
    }
    expect(answered).toHaveBeenCalledTimes(2);
    expect(error).toHaveBeenCalledTimes(4);
    expect(error).toHaveBeenCalledWith('An observer of requests failed', expect.stringContaining('of the observer'));
  });
});
