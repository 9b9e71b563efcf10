import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Load, STORED_PLANTS, type StoredPlant } from '../faults/load.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import { createTogether } from '../support/http/request.js';
import { figure } from '../support/jest/suite.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const RACES = 300;
const CLIENTS = 64;
const SOME_PLANTS = 500;

/** One of several services on one database, each in a process of its own, always on the same ports, as a proxy has to know it. */
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

  async start(): Promise<void> {
    const ports = { PORT: String(this.port), MANAGEMENT_PORT: String(this.managementPort) };
    this.service = await PlantStoreProcess.serve(this.databaseUrl, { ...ports, DRAIN_DELAY: '2000' });
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

  async kill(): Promise<void> {
    await this.service?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

describeWithHaproxy('Three instances behind HAProxy', () => {
  let database: TestDatabase;
  let instances: readonly Instance[];
  let proxy: Haproxy;
  let port: number;

  beforeAll(async () => {
    database = await createTestDatabase();
    instances = await Promise.all([1, 2, 3].map(() => Instance.start(database.url)));
    port = await freePort();
    proxy = await Haproxy.start(port, instances);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await Promise.all(instances.map((instance) => instance[Symbol.asyncDispose]()));
    await database.drop();
  });

  /** Each creates as many more plants. */
  const allServe = async (): Promise<void> => {
    const before = await Promise.all(instances.map((instance) => instance.created()));
    await until(async () => {
      const now = await Promise.all(instances.map((instance) => instance.created()));
      return now.every((count, i) => count >= (before[i] ?? 0) + SOME_PLANTS);
    });
  };

  it(`should create one plant in each of ${RACES} races for an id`, async () => {
    const winners: unknown[] = [];
    for (let id = 0; id < RACES; id++) {
      const racers = [1, 2, 3, 4, 5, 6].map((racer) => ({ body: `{"id":${id},"name":"racer ${racer}"}` }));
      const bodies = (await createTogether(port, racers)).map((answer) => answer?.body ?? '');
      const [winner = '', ...others] = bodies.filter((body) => !body.includes('"error":40901'));
      expect(others).toEqual([]);
      winners.push({ id: String(id), ...(JSON.parse(winner) as object) });
    }
    expect(await database.query('SELECT id, name FROM plants ORDER BY plants.id')).toEqual(winners);
    const created = await Promise.all(instances.map((instance) => instance.created()));
    expect(Math.min(...created)).toBeGreaterThan(0);
    figure(`${RACES} races of six for one id, three instances behind HAProxy`, `one 200 each (${created.join(', ')})`);
  });

  it('should lose nothing that was acknowledged when one is killed under load', async () => {
    await database.query('DELETE FROM plants');
    await using load = new Load(port, CLIENTS);
    await allServe();
    const created = load.createdCount;
    await instances[0]?.kill();
    await until(() => load.createdCount > created + 3 * SOME_PLANTS);
    await instances[0]?.start();
    await allServe();
    await load.stop();

    const { outcomes, acknowledged, ...counts } = load.compareWith(await database.query<StoredPlant>(STORED_PLANTS));
    expect(counts).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    // Only what was in flight on it: no other request fails, and none that was not sent.
    const inFlight = (outcomes.get('no answer') ?? 0) + (outcomes.get(50400) ?? 0);
    const others = [...outcomes.keys()].filter((outcome) => ![200, 40901, 'no answer', 50400].includes(outcome));
    expect(others).toEqual([]);
    expect(inFlight).toBeLessThanOrEqual(CLIENTS);
    figure(`kill -9 of one of three under ${CLIENTS} clients`, `0 of ${acknowledged} lost; ${inFlight} unknown`);
  });

  it(`should fail no request of ${CLIENTS} clients while each is replaced in turn`, async () => {
    await database.query('DELETE FROM plants');
    await using load = new Load(port, CLIENTS);
    await allServe();
    for (const instance of instances) {
      await instance.restart();
      await allServe();
    }
    await load.stop();

    const { outcomes, acknowledged, lost } = load.compareWith(await database.query<StoredPlant>(STORED_PLANTS));
    expect([...outcomes.keys()].filter((outcome) => outcome !== 200 && outcome !== 40901)).toEqual([]);
    expect(lost).toBe(0);
    figure(`rolling update of three under ${CLIENTS} clients`, `0 of ${acknowledged} failed`);
  });
});
