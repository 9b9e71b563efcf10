import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Histogram, PlantsMetrics } from '../plants/plants.metrics.js';
import { ClientStatistics } from './client-statistics.js';
import { ManagementServer } from './management-server.js';
import { Readiness } from './readiness.js';

class SettableHealth {
  obstacle: Error | undefined;
  degradation: string | undefined;

  check(): Promise<void> {
    return this.obstacle === undefined ? Promise.resolve() : Promise.reject(this.obstacle);
  }
}

describe(ManagementServer.name, () => {
  let statistics: PlantsMetrics;
  let health: SettableHealth;
  let server: ManagementServer;
  let port: number;

  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method });

  async function tell(path: string) {
    const response = await ask(path);
    return [response.status, await response.json()];
  }

  const ok = [200, { status: 'ok' }];

  beforeEach(async () => {
    health = new SettableHealth();
    statistics = new PlantsMetrics();
    const publicListener = new HttpAdapterHost();
    publicListener.listening = true;
    const readiness = new Readiness(health, publicListener);
    const sources = {
      plants: statistics,
      budget: { waiting: 0 },
      database: { connectionsInUse: 0 },
      waits: Histogram.ofSeconds(),
      credentials: { wrongTokens: 0 },
      issuedTokens: { soonestEnd: Infinity },
      readiness,
      clients: new ClientStatistics(),
    };
    server = new ManagementServer({ host: '127.0.0.1', port: 0 }, sources);
    await server.onApplicationBootstrap();
    port = server.address()?.port ?? 0;
  });

  afterEach(async () => {
    await server.onApplicationShutdown();
  });

  it('should log why there are no metrics, tell that, and go on', async () => {
    const logged: unknown[] = [];
    Logger.overrideLogger({
      log: () => undefined,
      warn: () => undefined,
      error: (error: unknown) => logged.push(error),
    });
    Object.defineProperty(statistics, 'created', {
      get: () => {
        throw new Error('out of numbers');
      },
    });
    try {
      await expect(tell('/metrics')).resolves.toEqual([
        500,
        { message: 'This could not be found out; the log says why.' },
      ]);
    } finally {
      Logger.overrideLogger(true);
    }
    expect(logged).toEqual([expect.stringContaining('out of numbers')]);
    await expect(tell('/livez')).resolves.toEqual(ok);
  });

  it('should answer JSON that is not cached, and HEAD without a body', async () => {
    const response = await ask('/livez', 'HEAD');

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('content-length')).toBe(String('{"status":"ok"}'.length));
    expect(response.headers.get('cache-control')).toBe('no-store');
    await expect(response.text()).resolves.toBe('');
  });

  it.each(['/', '/metrics/', '/livez/', '/LIVEZ', '/plants', '/%'])('should answer 404 to %s', async (path) => {
    await expect(tell(path)).resolves.toEqual([404, { message: 'No such path; there are /livez, /readyz, /metrics.' }]);
  });

  it.each(['POST', 'DELETE', 'OPTIONS'])('should answer 405 to %s', async (method) => {
    const response = await ask('/readyz', method);

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    await expect(response.json()).resolves.toEqual({ message: `Use GET, not ${method}.` });
  });

  it('should close at once, even if a connection is idle, and as often as asked', async () => {
    const idle = connect(port, '127.0.0.1').resume();
    await once(idle, 'connect');
    const idleClosed = once(idle, 'close');

    await server.onApplicationShutdown();
    await server.onApplicationShutdown();

    await idleClosed;
    expect(server.address()).toBeUndefined();
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
