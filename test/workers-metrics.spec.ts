import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';
import { WorkersService } from './support/workers-service.js';

describe('/metrics of several workers', () => {
  let database: TestDatabase;
  let service: WorkersService;

  beforeAll(async () => {
    database = await createTestDatabase();
    service = await WorkersService.start(database.url);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  const CREATED = 'plant_store_plants_created_total';
  let id = 0;

  /** Half of them by each worker, as connections are dealt out in turn. */
  async function create(plants: number): Promise<void> {
    for (let i = 0; i < plants; i++) {
      expect(await service.process.post(`{"id":${++id},"name":"Rose"}`)).toMatchObject({ status: 200 });
    }
  }

  it('should have what they do as sums, and what each process takes for itself', async () => {
    await create(6);
    const metrics = await service.metrics();
    expect(Object.fromEntries(metrics)).toMatchObject({
      plant_store_plants_created_total: 6,
      'plant_store_plants_created_by_total{token="static"}': 6,
      plant_store_workers: 2,
      plant_store_worker_restarts_total: 0,
      plant_store_creates_waiting: 0,
      plant_store_creates_in_flight: 0,
    });
    for (const process of ['primary', 'worker-1', 'worker-2']) {
      expect(metrics.get(`process_resident_memory_bytes{process="${process}"}`)).toBeGreaterThan(1e6);
      expect(metrics.has(`process_cpu_seconds_total{process="${process}"}`)).toBe(true);
    }
    expect([...metrics.keys()].filter((name) => name.startsWith('plant_store_build_info'))).toHaveLength(1);
    expect([...metrics.values()].filter((value) => !Number.isFinite(value))).toEqual([]);
  });

  it('should be told without a worker that does not answer, its share of what was counted included', async () => {
    const before = await service.metrics();
    const [worker = 0] = await service.workers();
    process.kill(worker, 'SIGSTOP');
    const meanwhile = await service.metrics();
    process.kill(worker, 'SIGCONT');

    const places = (metrics: Map<string, number>): number =>
      [...metrics.keys()].filter((name) => name.startsWith('process_open_fds')).length;
    expect([places(before), places(meanwhile)]).toEqual([3, 2]);
    expectNoCounterFallen(before, meanwhile);
    expect(meanwhile.get(CREATED)).toBe(6);
  });

  it('should count a worker that is replaced, and let no sum fall', async () => {
    const before = await service.metrics();
    const [worker = 0] = await service.workers();
    process.kill(worker, 'SIGKILL');
    await until(() => service.logged(' was ended by ').length === 1);
    const meanwhile = await service.metrics();
    expect(meanwhile.get('plant_store_workers')).toBe(1);
    await until(() => service.logged(' listens on ').length === 1);
    await create(4);
    const after = await service.metrics();
    expect([before, meanwhile, after].map((metrics) => metrics.get(CREATED))).toEqual([6, 6, 10]);

    expect(after.get('plant_store_workers')).toBe(2);
    expect(after.get('plant_store_worker_restarts_total')).toBe(1);
    expectNoCounterFallen(before, meanwhile);
    expectNoCounterFallen(meanwhile, after);
  });
});

/** That the sums of the service did not fall; what a process takes begins anew with it, under its own label. */
function expectNoCounterFallen(before: Map<string, number>, after: Map<string, number>): void {
  const counters = [...before].filter(([name]) => /^plant_store_\w+_total$/.test(name));
  expect(counters.length).toBeGreaterThan(2);
  expect(counters.filter(([name, value]) => (after.get(name) ?? -1) < value)).toEqual([]);
}
