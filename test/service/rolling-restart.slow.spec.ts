import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import { Instance } from '../support/service/process.js';
import { until } from '../support/until.js';

/** `LONG=1` for the figures of docs/reliability.md. */
const RESTARTS = process.env.LONG ? 20 : 2;
const CLIENTS = 32;
const SOME_PLANTS = 200;

describeWithHaproxy('A rolling restart of two instances behind HAProxy', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  it(
    `should fail no request of ${CLIENTS} clients in ${RESTARTS} restarts`,
    async () => {
      await using a = await Instance.start(database.url);
      await using b = await Instance.start(database.url);
      const port = await freePort();
      await using proxy = await Haproxy.start(port, [a, b]);
      const serves = (instance: Instance): Promise<void> =>
        until(async () => (await instance.created()) >= SOME_PLANTS);
      await using clients = new CreatingClients(port, CLIENTS);
      await Promise.all([a, b].map(serves));

      for (let restart = 0; restart < RESTARTS; restart++) {
        const instance = restart % 2 === 0 ? a : b;
        await instance.restart();
        await serves(instance);
      }
      await clients.stop();

      expect(clients.failures).toEqual([]);
      expect(proxy.output).toContain('DOWN, reason: Layer7 wrong status, code: 503');
      const rows = await database.query<{ id: string }>('SELECT id FROM plants');
      expect(rows.map(({ id }) => Number(id)).sort((x, y) => x - y)).toEqual(clients.created.sort((x, y) => x - y));
    },
    RESTARTS * 60_000,
  );
});
