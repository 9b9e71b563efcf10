import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import { Instance, PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

/** `LONG=1` for the figures of docs/reliability.md. */
const [STOPS, RESTARTS] = process.env.LONG ? [20, 20] : [3, 2];
let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function expectStored(created: readonly number[]): Promise<void> {
  const rows = await database.query<{ id: string }>('SELECT id FROM plants');
  expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(created.toSorted((a, b) => a - b));
}

describe('Stop under load', () => {
  const CLIENTS = 64;

  it.each([{ DRAIN_DELAY: '0' }, { DRAIN_DELAY: '300' }])(
    `should answer every request of ${CLIENTS} clients in ${STOPS} stops, with %j`,
    async (variables) => {
      const created: number[] = [];
      for (let stop = 0; stop < STOPS; stop++) {
        await using service = await PlantStoreProcess.serve(database.url, variables);
        await using clients = new CreatingClients(service.port, CLIENTS, created.length + 1);
        await until(() => clients.created.length >= 2000);

        service.signal('SIGTERM');
        expect(await service.ended).toBe(0);
        await clients.stop();

        expect(clients.failures).toEqual([]);
        // Those that were waiting at the signal, or were sent since.
        expect(clients.closings).toBeGreaterThanOrEqual(CLIENTS);
        expect(service.log.filter(({ level }) => level !== 'info')).toEqual([]);
        created.push(...clients.created);
      }
      await expectStored(created);
    },
    STOPS * 60_000,
  );
});

describeWithHaproxy('A rolling restart of two instances behind HAProxy', () => {
  it(
    `should fail no request in ${RESTARTS} restarts`,
    async () => {
      await using a = await Instance.start(database.url);
      await using b = await Instance.start(database.url);
      const port = await freePort();
      await using proxy = await Haproxy.start(port, [a, b]);
      const serves = (instance: Instance): Promise<void> => until(async () => (await instance.created()) >= 200);
      await using clients = new CreatingClients(port, 32);
      await Promise.all([a, b].map(serves));

      for (let restart = 0; restart < RESTARTS; restart++) {
        const instance = restart % 2 === 0 ? a : b;
        await instance.restart();
        await serves(instance);
      }
      await clients.stop();

      expect(clients.failures).toEqual([]);
      expect(proxy.output).toContain('DOWN, reason: Layer7 wrong status, code: 503');
      await expectStored(clients.created);
    },
    RESTARTS * 60_000,
  );
});
