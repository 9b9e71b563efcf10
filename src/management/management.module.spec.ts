import { afterEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { AuthModule } from '../auth/auth.module.js';
import { Database } from '../database/database.js';
import { PlantsHealth } from '../plants/plants-health.js';
import { PlantsStatistics } from '../plants/plants-statistics.js';
import { ClientStatistics } from './client-statistics.js';
import { ManagementListenError, ManagementServer } from './management-server.js';
import { ManagementModule } from './management.module.js';

@Module({
  providers: [
    { provide: PlantsHealth, useValue: { check: () => Promise.resolve() } },
    PlantsStatistics,
    { provide: Database, useValue: {} },
  ],
  exports: [PlantsHealth, PlantsStatistics, Database],
})
class StoreModule {}

describe(ManagementModule.name, () => {
  let app: INestApplication | undefined;

  async function create({ port = 0, host = '127.0.0.1' } = {}, other: Type[] = []) {
    const management = ManagementModule.forRoot(
      { host, port },
      {
        store: { module: StoreModule },
        auth: AuthModule.forRoot({ accessTokens: ['a-token-of-twenty-characters'] }),
        clients: new ClientStatistics(),
      },
    );
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

  it('should not start on a port that is taken, and say which listener failed', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    try {
      const starting = (await create({ port })).listen(0, '127.0.0.1');

      await expect(starting).rejects.toThrow(ManagementListenError);
      await expect(starting).rejects.toMatchObject({ cause: { code: 'EADDRINUSE', port } });
    } finally {
      holder.close();
      await once(holder, 'close');
    }
  });
});
