import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ExactingClients } from './support/exacting-clients.js';
import { freePort } from './support/free-port.js';
import { describeWithHaproxy, Haproxy } from './support/haproxy.js';
import { PlantStoreProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';

/** `LONG=1` for the figures of docs/reliability.md. */
const RESTARTS = process.env.LONG ? 20 : 2;
const CLIENTS = 32;
const SOME_PLANTS = 200;

/** One of the two, always on the same ports. */
class Instance implements AsyncDisposable {
  private service: PlantStoreProcess | undefined;

  private constructor(
    private readonly databaseUrl: string,
    readonly port: number,
    readonly managementPort: number,
  ) {}

  static async start(databaseUrl: string): Promise<Instance> {
    const instance = new Instance(databaseUrl, await freePort(), await freePort());
    await instance.start();
    return instance;
  }

  async restart(): Promise<void> {
    this.service?.signal('SIGTERM');
    expect(await this.service?.ended).toBe(0);
    await this.start();
  }

  /** How many plants it has created since it started. */
  async created(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${this.managementPort}/metrics`)).text();
    return Number(/^plant_store_plants_created_total (\d+)$/m.exec(metrics)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service?.[Symbol.asyncDispose]();
  }

  private async start(): Promise<void> {
    this.service = await PlantStoreProcess.serve(this.databaseUrl, {
      PORT: String(this.port),
      MANAGEMENT_PORT: String(this.managementPort),
      DRAIN_DELAY: '2000',
    });
  }
}

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
      await using proxy = await Haproxy.start(port, {
        PLANT_STORE_A: `127.0.0.1:${a.port}`,
        PLANT_STORE_B: `127.0.0.1:${b.port}`,
        READINESS_A: `127.0.0.1:${a.managementPort}`,
        READINESS_B: `127.0.0.1:${b.managementPort}`,
      });
      const serves = (instance: Instance): Promise<void> =>
        until(async () => (await instance.created()) >= SOME_PLANTS);
      await using clients = new ExactingClients(port, CLIENTS);
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
