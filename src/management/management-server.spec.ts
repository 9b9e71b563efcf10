import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { Histogram, PlantsStatistics } from '../plants/plants-statistics.js';
import { packageVersion } from '../util/package-files.cjs';
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

class SettableStatistics extends PlantsStatistics {
  failure: Error | undefined;

  override get createdBy(): ReadonlyMap<string, number> {
    if (this.failure) throw this.failure;
    return new Map();
  }
}

describe(ManagementServer.name, () => {
  let statistics: SettableStatistics;
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
    statistics = new SettableStatistics();
    const publicListener = new HttpAdapterHost();
    publicListener.listening = true;
    const readiness = new Readiness(health, publicListener);
    const sources = {
      plants: statistics,
      pool: undefined,
      waits: { now: 0, seconds: Histogram.ofSeconds() },
      credentials: { wrongTokens: 0 },
      issuedTokens: { soonestEnd: Infinity },
      readiness,
      clients: new ClientStatistics(),
    };
    const configuration = { PORT: { value: '3000', source: 'default' } };
    server = new ManagementServer({ host: '127.0.0.1', port: 0, names: ['api'] }, sources, configuration);
    await server.onApplicationBootstrap();
    port = server.address()?.port ?? 0;
  });

  afterEach(async () => {
    await server.onApplicationShutdown();
  });

  it('should tell that the service is live and ready', async () => {
    await expect(tell('/livez')).resolves.toEqual(ok);
    await expect(tell('/readyz')).resolves.toEqual(ok);
    await expect(tell('/readyz?verbose')).resolves.toEqual(ok);
  });

  it('should stay live while it is unavailable, say why, and recover', async () => {
    health.obstacle = new Error('the database does not answer');
    await expect(tell('/readyz')).resolves.toEqual([
      503,
      { status: 'unavailable', reason: 'the database does not answer' },
    ]);
    await expect(tell('/livez')).resolves.toEqual(ok);

    health.obstacle = undefined;
    await expect(tell('/readyz')).resolves.toEqual(ok);
  });

  it('should answer the metrics as Prometheus reads them, and a HEAD without them', async () => {
    statistics.created = 7;
    const response = await ask('/metrics');
    const content = await response.text();

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(content)));
    expect(content).toMatch(/^plant_store_plants_created_total 7$/m);

    const head = await ask('/metrics', 'HEAD');
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    await expect(head.text()).resolves.toBe('');
  });

  it('should log why there are no metrics, tell that, and go on', async () => {
    const logged: unknown[] = [];
    Logger.overrideLogger({
      log: () => undefined,
      warn: () => undefined,
      error: (error: unknown) => logged.push(error),
    });
    statistics.failure = new Error('out of numbers');
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

  it('should tell what runs here, since when, and how it is configured', async () => {
    const response = await ask('/info');
    expect(response.status).toBe(200);
    const { uptime, commit, ...info } = (await response.json()) as Record<string, unknown>;
    expect(info).toEqual({
      version: packageVersion(),
      node: process.version,
      startedAt: new Date(performance.timeOrigin).toISOString(),
      configuration: { PORT: { value: '3000', source: 'default' } },
    });
    expect(Math.abs(Number(uptime) - process.uptime())).toBeLessThan(5);
    // Of the last build, if there is one.
    expect(commit ?? '0'.repeat(40)).toMatch(/^[0-9a-f]{40}(-dirty)?$/);
    expect((await ask('/info', 'HEAD')).status).toBe(200);
    expect((await ask('/info', 'POST')).status).toBe(405);
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
    await expect(tell(path)).resolves.toEqual([
      404,
      { message: 'No such path; there are /livez, /readyz, /metrics, /info.' },
    ]);
  });

  it.each(['POST', 'DELETE', 'OPTIONS'])('should answer 405 to %s', async (method) => {
    const response = await ask('/readyz', method);

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    await expect(response.json()).resolves.toEqual({ message: `Use GET, not ${method}.` });
  });

  describe('asked by a name', () => {
    async function statusFor(host: string): Promise<unknown> {
      const asked = request({ host: '127.0.0.1', port, path: '/livez', headers: { Host: host } }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return response.resume().statusCode;
    }

    it.each([
      '127.0.0.1',
      '10.0.0.7:9464',
      '[::1]',
      '[fe80::1]:9464',
      'localhost',
      'LOCALHOST:9464',
      'api',
      'Api:9464',
    ])('should answer to %s', async (host) => {
      expect(await statusFor(host)).toBe(200);
    });

    it.each([
      'evil.example',
      'evil.example:9464',
      'api.evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '2130706433',
      ':9464',
    ])('should not answer to "%s"', async (host) => {
      expect(await statusFor(host)).toBe(421);
    });

    it('should say what would be right', async () => {
      const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers: { Host: 'evil.example' } }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      expect(await json(response)).toEqual({
        message:
          'This listener is not "evil.example". Ask for it by IP address or localhost, or add the name to MANAGEMENT_HOSTS.',
      });
    });

    it('should answer without one, as in HTTP/1.0: a browser always sends one', async () => {
      const socket = connect(port, '127.0.0.1').setEncoding('utf8');
      socket.write('GET /livez HTTP/1.0\r\n\r\n');
      expect(await text(socket)).toMatch(/^HTTP\/1.1 200 /);
    });
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
