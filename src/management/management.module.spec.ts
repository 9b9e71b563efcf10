import { afterEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AuthModule } from '../auth/auth.module.js';
import { Database } from '../database/database.js';
import { PlantsHealth } from '../plants/plants.health.js';
import { PlantsMetrics } from '../plants/plants.metrics.js';
import { WriteBudget } from '../plants/write-queue.js';
import { ClientStatistics } from './client-statistics.js';
import { ManagementServer } from './management-server.js';
import { ManagementModule } from './management.module.js';

@Module({
  providers: [
    { provide: PlantsHealth, useValue: { check: () => Promise.resolve() } },
    PlantsMetrics,
    { provide: WriteBudget, useValue: {} },
    { provide: Database, useValue: {} },
  ],
  exports: [PlantsHealth, PlantsMetrics, WriteBudget, Database],
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
});
