import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PostgresServer } from '../support/database/postgres-server.js';
import type { TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { ProxiedStore, startStoreOn, type Store } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const POOL_SIZE = 6;
const STORAGE_TIMEOUT = 1500;
const VARIABLES = { DATABASE_POOL_SIZE: String(POOL_SIZE), STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) };
const CLIENTS = 64;
const SESSIONS = `SELECT pid, wait_event, query FROM pg_stat_activity WHERE application_name = 'plant-store' ORDER BY pid`;

interface Session extends Record<string, unknown> {
  pid: number;
  wait_event: string | null;
  query: string;
}

describe('Sessions of a store', () => {
  let server: PostgresServer;
  let store: Store;

  beforeAll(async () => {
    server = await PostgresServer.createMigrated();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    store = await start();
  });
  afterEach(() => store.stop());

  const start = (): Promise<Store> => startStoreOn({ url: server.url() } as TestDatabase, VARIABLES);

  const sessions = (): Promise<Session[]> => server.query<Session>(SESSIONS);

  it('should not exceed the pool while the synchronous standby is away, and create plants when it is back', async () => {
    await using clients = CreatingClients.start(store.port, CLIENTS);
    await until(() => clients.created.length > CLIENTS);
    await server.set('synchronous_standby_names', 'nobody');
    await until(async () => (await sessions()).some(({ wait_event }) => wait_event === 'SyncRep'));

    // One that ends, and the one in its place, may be there together for a moment.
    let within = performance.now();
    await until(async () => {
      if ((await sessions()).length <= POOL_SIZE + 1) within = performance.now();
      expect(performance.now() - within).toBeLessThan(3000);
      return clients.refusals.length > 3 * CLIENTS;
    });

    const created = clients.created.length;
    await server.set('synchronous_standby_names', '');
    await until(() => clients.created.length > created + CLIENTS);
    await clients.stop();
  });

  it('should not hold up a stop', async () => {
    await server.set('synchronous_standby_names', 'nobody');
    const answers = Array.from({ length: POOL_SIZE }, (_, id) => store.post(`{"id":${-1 - id},"name":"Rose"}`));
    const errors = (await Promise.all(answers)).map(({ body }) => body);
    expect(errors.filter((body) => body.includes('50400')).length).toBeGreaterThan(0);
    using stopwatch = new Stopwatch();
    await store.stop();
    expect(stopwatch.elapsed).toBeLessThan(2 * STORAGE_TIMEOUT);
    await until(async () => (await sessions()).every(({ wait_event }) => wait_event === 'SyncRep'));
    await server.set('synchronous_standby_names', '');
    await until(async () => (await sessions()).length === 0);
    store = await start();
  });

  it('should be the same after the server was stopped for longer than the time limit', async () => {
    await using clients = CreatingClients.start(store.port, CLIENTS);
    await until(() => clients.created.length > CLIENTS);
    await server.signalAll('SIGSTOP');
    await until(() => clients.refusals.length > 3 * CLIENTS);
    await server.signalAll('SIGCONT');
    const created = clients.created.length;
    await until(() => clients.created.length > created + CLIENTS);
    // The server ends the sessions of connections that were given up meanwhile.
    await until(async () => (await sessions()).length <= POOL_SIZE);
    await clients.stop();
  });
});

describe('A store whose connections fall silent', () => {
  it('should go on with new ones within about two time limits, and have twice the pool at most', async () => {
    const store = await ProxiedStore.start(VARIABLES);
    try {
      await using clients = CreatingClients.start(store.port, CLIENTS);
      await until(() => clients.created.length > CLIENTS);
      store.proxy.freezeOpen();
      using stopwatch = new Stopwatch();
      // Until the first ones have waited long enough, some may come through on connections that are just being made.
      await until(() => clients.refusals.length > 0);
      const created = clients.created.length;
      await until(() => clients.created.length > created + 3 * CLIENTS);
      expect(stopwatch.elapsed).toBeLessThan(4 * STORAGE_TIMEOUT);
      const open = await store.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plant-store'`,
      );
      expect(open.length).toBeLessThanOrEqual(2 * POOL_SIZE);
      await clients.stop();
    } finally {
      await store.stop();
    }
  });
});
