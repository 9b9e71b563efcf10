import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';
import { Module, type INestApplication, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { ConfigurationError } from '../app/config-error.js';
import { ManagementModule } from './management.module.js';
import { ManagementServer } from './management-server.js';
import { type MetricsPage, MetricsSource } from './metrics-source.js';
import { ReadinessCheck, Readiness } from './readiness.js';

class PassingCheck extends ReadinessCheck {
  check(): Promise<void> {
    return Promise.resolve();
  }
}

class EmptyMetrics extends MetricsSource {
  page(): Promise<MetricsPage> {
    return Promise.resolve({ contentType: 'text/plain', content: '' });
  }
}

@Module({
  providers: [
    { provide: ReadinessCheck, useClass: PassingCheck },
    { provide: MetricsSource, useClass: EmptyMetrics },
  ],
  exports: [ReadinessCheck, MetricsSource],
})
class CheckModule {}

describe(ManagementModule.name, () => {
  let app: INestApplication | undefined;

  async function create({ port = 0, host = '127.0.0.1' } = {}, other: Type[] = []) {
    const management = ManagementModule.forRoot({ listener: { host, port }, imports: [CheckModule] });
    const built = await Test.createTestingModule({ imports: [...other, management] }).compile();
    app = built.createNestApplication();
    app.useLogger(false);
    return app;
  }

  const boundPort = () => app?.get(ManagementServer).address()?.port ?? 0;

  async function tell(path: string) {
    const response = await fetch(`http://127.0.0.1:${boundPort()}${path}`);
    return [response.status, await response.json()];
  }

  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  it('should be live before the others start and after they stop, and ready only between', async () => {
    const heard: unknown[] = [];
    const listen = async (moment: string) => heard.push([moment, await tell('/livez'), await tell('/readyz')]);

    @Module({})
    class OtherModule {
      onApplicationBootstrap = () => listen('start');
      beforeApplicationShutdown = () => listen('shutdown begins');
      onApplicationShutdown = () => listen('shutdown ends');
    }

    await (await create({}, [OtherModule])).listen(0, '127.0.0.1');
    await listen('run');
    await app?.close();

    const ok = [200, { status: 'ok' }];
    const unavailable = (reason: string) => [503, { status: 'unavailable', reason }];
    expect(heard).toEqual([
      ['start', ok, unavailable('the service is starting')],
      ['run', ok, ok],
      ['shutdown begins', ok, unavailable('the service is shutting down')],
      ['shutdown ends', ok, unavailable('the service is shutting down')],
    ]);
    expect(boundPort()).toBe(0);
  });

  it('should not serve its paths on the public listener', async () => {
    await (await create()).listen(0, '127.0.0.1');

    const response = await fetch(`${(await app?.getUrl()) ?? ''}/livez`);

    expect(response.status).toBe(404);
  });

  it('should not keep the process alive by itself', async () => {
    const servers = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
    const before = servers();

    await (await create()).init();

    expect(boundPort()).toBeGreaterThan(0);
    expect(servers()).toBe(before);
  });

  it('should listen nowhere where another process answers for this one', async () => {
    const management = ManagementModule.forRoot({ imports: [CheckModule] });
    const built = await Test.createTestingModule({ imports: [management] }).compile();
    app = built.createNestApplication();
    await app.listen(0, '127.0.0.1');

    expect(boundPort()).toBe(0);
    await expect(app.get(Readiness).findObstacle()).resolves.toBeUndefined();
  });

  it('should not start on a port that is taken, and name the variable', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    try {
      const starting = (await create({ port })).listen(0, '127.0.0.1');

      await expect(starting).rejects.toThrow(ConfigurationError);
      await expect(starting).rejects.toThrow(`MANAGEMENT_PORT: ${port} on "127.0.0.1" is taken by another program`);
    } finally {
      holder.close();
      await once(holder, 'close');
    }
  });

  it('should not start on an address of another machine, and name the variable', async () => {
    // 192.0.2.0/24 is set aside for documentation (RFC 5737).
    const starting = (await create({ host: '192.0.2.1' })).listen(0, '127.0.0.1');

    await expect(starting).rejects.toThrow('MANAGEMENT_HOST: "192.0.2.1" is no address of this machine');
  });
});
