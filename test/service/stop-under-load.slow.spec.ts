import { afterEach, beforeEach, expect, it, describe } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

/** `LONG=1` for the figures of docs/reliability.md. */
const STOPS = process.env.LONG ? 20 : 3;
const CLIENTS = 64;
const ENOUGH_PLANTS = 2000;

describe('Stop under load', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  it.each([{ DRAIN_DELAY: '0' }, { DRAIN_DELAY: '300' }])(
    `should answer every request of ${CLIENTS} clients in ${STOPS} stops, with %j`,
    async (variables) => {
      const created: number[] = [];
      for (let stop = 0; stop < STOPS; stop++) {
        await using service = await PlantStoreProcess.serve(database.url, variables);
        await using clients = new CreatingClients(service.port, CLIENTS, created.length + 1);
        await until(() => clients.created.length >= ENOUGH_PLANTS);

        service.signal('SIGTERM');
        expect(await service.ended).toBe(0);
        await clients.stop();

        expect(clients.failures).toEqual([]);
        // Those that were waiting at the signal, or were sent since.
        expect(clients.closings).toBeGreaterThanOrEqual(CLIENTS);
        expect(service.log.filter(({ level }) => level !== 'info')).toEqual([]);
        created.push(...clients.created);
      }
      const rows = await database.query<{ id: string }>('SELECT id FROM plants');
      expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(created.sort((a, b) => a - b));
    },
    STOPS * 60_000,
  );
});
