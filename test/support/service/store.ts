import { expect } from '@jest/globals';
import type { INestApplication, Type } from '@nestjs/common';
import { createApp } from '../../../src/app.js';
import { assertNoFaults, readEnvironment } from '../../../src/config/configuration.js';
import { ManagementServer } from '../../../src/management/management-server.js';
import { WriteStatistics } from '../../../src/writer/batch-writer.js';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { portOf } from '../http/free-port.js';
import { connectTo, expectRefusal, type RawResponse, type RequestHeaders } from '../http/request.js';
import { TcpProxy } from '../http/tcp-proxy.js';
import { serviceVariables } from './process.js';

export type Store = Awaited<ReturnType<typeof startStoreOn>>;

/** Starts the application as `plant-store serve` does, configured by environment variables. */
export async function startStore(
  variables: Record<string, string> = {},
  prepare?: (app: INestApplication) => void,
  module?: Type,
): Promise<Store> {
  const database = await createTestDatabase();
  const store = await startStoreOn(database, variables, prepare, module);
  return { ...store, stop: () => store.stop().then(() => database.drop()) };
}

/** Starts it on a database that is there already, and that stays. Its `stop()` answers requests in flight. */
export async function startStoreOn(
  database: TestDatabase,
  variables: Record<string, string> = {},
  prepare?: (app: INestApplication) => void,
  module?: Type,
) {
  const all = { ...serviceVariables(database.url), LOG_LEVEL: 'fatal', ...variables };
  const environment = assertNoFaults(readEnvironment(all));
  const app = await createApp(environment, module);
  prepare?.(app);
  await app.listen(environment.PORT, environment.HOST);
  const statistics = app.get(WriteStatistics, { strict: false });
  return {
    ...connectTo(portOf(app.getHttpServer()), environment.BASE_PATH),
    managementPort: app.get(ManagementServer, { strict: false }).address()?.port ?? 0,
    errorStatus: environment.ERROR_STATUS,
    database,
    statistics,
    stop: () => app.close(),
  };
}

/** A running store that reaches its database through a proxy; `database` goes past it. */
export async function startProxiedStore(variables: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  const store = await startStoreOn({ ...database, url: proxy.url }, variables);
  const create = (id: number, headers?: RequestHeaders): Promise<RawResponse> =>
    store.post(JSON.stringify({ id, name: 'Rose' }), headers);
  return {
    ...store,
    database,
    proxy,
    create,
    expectNothingWritten: (response: RawResponse | undefined, error: 50300 | 50301 = 50300): void => {
      expect(expectRefusal(response, error, store.errorStatus)).toMatch('Nothing was written');
      expect(response?.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    },
    stop: async (): Promise<void> => {
      proxy.restore();
      await store.stop();
      await proxy.close();
      await database.drop();
    },
  };
}
export type ProxiedStore = Awaited<ReturnType<typeof startProxiedStore>>;
