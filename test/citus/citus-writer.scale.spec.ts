import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Migrator } from '../../src/database/migrator.js';
import { hashInt8, ShardedWriter } from '../../src/plants/sharded-writer.js';
import { describeContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { type Comparison, Load, type StoredPlant } from '../faults/load.js';
import { CitusCluster, describeWithCitus } from '../support/database/citus-cluster.js';
import type { PostgresServer } from '../support/database/postgres-server.js';
import { figure } from '../support/jest/figure.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { until } from '../support/until.js';

const CLIENTS = 32;
const MEASURE_MS = 3000;
/** Of the service, by default. */
const STORAGE_TIMEOUT_MS = 5000;

describeWithCitus('The writer on Citus', () => {
  let cluster: CitusCluster;
  const stores: Store[] = [];

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    await new Migrator({ url: cluster.coordinator.url() }).migrate();
    for (const table of ['access_tokens', '_prisma_migrations'])
      await cluster.coordinator.query(`SELECT create_reference_table('${table}')`);
    await cluster.coordinator.query(`SELECT create_distributed_table('plants', 'id', shard_count := 4)`);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const storeOn = (node: PostgresServer): Promise<Store> =>
    startStoreOn({ url: node.url(), drop: () => Promise.resolve() } as Store['database'], { ERROR_STATUS: 'semantic' });

  async function start(node: PostgresServer): Promise<Store> {
    const store = await storeOn(node);
    stores.push(store);
    return store;
  }

  async function expectNothingLost(load: Load): Promise<Comparison> {
    await load.stop();
    const rows = await cluster.coordinator.query<StoredPlant>(
      'SELECT id::text, name, tag, idempotency_key AS key FROM plants',
    );
    const comparison = load.compareWith(rows);
    expect(comparison).toMatchObject({ lost: 0, storedThoughRefused: 0, foreign: 0 });
    return comparison;
  }

  /** Creates a second. */
  async function rateOf(load: Load): Promise<number> {
    const [before, since] = [load.createdCount, performance.now()];
    await sleep(MEASURE_MS);
    return Math.round(((load.createdCount - before) / (performance.now() - since)) * 1000);
  }

  async function readyz(store: Store): Promise<{ status: number; body: { status: string; reason?: string } }> {
    const response = await fetch(`http://127.0.0.1:${store.managementPort}/readyz`);
    return { status: response.status, body: (await response.json()) as { status: string } };
  }

  /** Races creates of new ids at several stores: each id is to be created once. */
  async function expectOneEach(racing: readonly Store[], count: number): Promise<void> {
    for (let id = 1; id <= count; id++) {
      const sent = racing.map((store, i) => store.post(`{"id":${id},"name":"Rose ${i}"}`));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array<number>(racing.length - 1).fill(409)]);
    }
  }

  /** Returns which ids are in the shards of a node. */
  async function isIn(node: PostgresServer): Promise<(id: number) => boolean> {
    const shards = await cluster.coordinator.query<{ min: number; max: number }>(
      `SELECT shardminvalue::int AS min, shardmaxvalue::int AS max FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
       WHERE logicalrelid = 'plants'::regclass AND nodeport = ${node.port}`,
    );
    return (id) => shards.some(({ min, max }) => min <= hashInt8(BigInt(id)) && hashInt8(BigInt(id)) <= max);
  }

  async function moveShards(): Promise<number> {
    const shards = await cluster.coordinator.query<{ id: string; port: number }>(
      `SELECT shardid::text AS id, nodeport AS port FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
       WHERE logicalrelid = 'plants'::regclass`,
    );
    const [one, other] = cluster.workers.map(({ port }) => port);
    for (const { id, port } of shards) {
      const to = port === one ? other : one;
      await cluster.coordinator.query(
        `SELECT citus_move_shard_placement(${id}, '127.0.0.1', ${port}, '127.0.0.1', ${to}, 'force_logical')`,
      );
    }
    return shards.length;
  }

  describe.each<[string, () => PostgresServer | undefined]>([
    ['the coordinator', () => cluster.coordinator],
    ['a worker', () => cluster.workers[0]],
  ])('asked through %s', (_, node) => {
    describeContract(runningTarget(() => storeOn(node() ?? cluster.coordinator)));
  });

  describe('under load', () => {
    beforeEach(() => cluster.coordinator.query('TRUNCATE plants'));
    afterEach(async () => {
      jest.restoreAllMocks();
      for (const node of cluster.nodes) {
        await node.signalAll('SIGCONT');
        await node.start();
      }
      await Promise.all(stores.splice(0).map((store) => store.stop()));
    });

    it('should create on every node, in one phase and by few statements', async () => {
      for (const asked of cluster.nodes) {
        const store = await start(asked);
        for (const node of cluster.nodes) await node.set('log_statement', 'all');
        const before = await Promise.all(cluster.nodes.map(async (node) => (await node.log()).length));
        const load = new Load(store.port, CLIENTS);
        await until(() => load.createdCount > 1000);
        await expectNothingLost(load);
        const logs = await Promise.all(cluster.nodes.map(async (node, i) => (await node.log()).slice(before[i])));
        for (const node of cluster.nodes) await node.set('log_statement', 'none');
        expect(logs.join().match(/INSERT INTO public\.plants_/g)?.length).toBeGreaterThan(100);
        expect(logs.join().includes('PREPARE TRANSACTION')).toBe(false);
        const names = logs.join().match(/plant-store LOG: {2}execute plant_store_\d+/g);
        expect(new Set(names).size).toBeLessThan(15);
        await cluster.coordinator.query('TRUNCATE plants');
      }
    });

    it.each([
      ['killed', (worker: PostgresServer) => worker.kill(), (worker: PostgresServer) => worker.start()],
      [
        'stopped',
        (worker: PostgresServer) => worker.signalAll('SIGSTOP'),
        (worker: PostgresServer) => worker.signalAll('SIGCONT'),
      ],
    ])(
      'should go on in the shards of the others while a worker is %s, and in all of them afterwards',
      async (what, end, begin) => {
        const store = await start(cluster.coordinator);
        const [worker] = cluster.workers as [PostgresServer];
        const isLost = await isIn(worker);
        const [live, lost] = [
          new Load(store.port, CLIENTS / 2, (id) => !isLost(id)),
          new Load(store.port, CLIENTS / 2, isLost),
        ];
        await until(() => Math.min(live.createdCount, lost.createdCount) > 500);
        const before = await rateOf(live);
        await end(worker);
        const during = await rateOf(live);
        figure(`Creates a second in other shards: before, while a worker is ${what}`, `${before}, ${during}`);
        expect(during).toBeGreaterThan(before / 2);
        const since = performance.now();
        const id = Array.from({ length: 100 }, (_, i) => 10_000_000 + i).find(isLost);
        expect((await store.post(`{"id":${id},"name":"Rose"}`)).body).toMatch(/"error":50(?:301|400)/);
        expect(performance.now() - since).toBeLessThan(STORAGE_TIMEOUT_MS + 500);
        await begin(worker);
        const created = [live.createdCount, lost.createdCount] as const;
        await until(() => live.createdCount > created[0] + 500 && lost.createdCount > created[1] + 500);
        await cluster.coordinator.query(`DELETE FROM plants WHERE id = ${id}`);
        await live.stop();
        for (const load of [live, lost]) {
          const { acknowledged, outcomes } = await expectNothingLost(load);
          figure(`Answers, worker ${what}`, `${acknowledged} created, ${JSON.stringify([...outcomes])}`);
          const allowed = ['200', '40901', '50300', '50301', '50400'];
          expect([...outcomes.keys()].filter((each) => !allowed.includes(each))).toEqual([]);
        }
      },
    );

    it('should go on through a worker while the coordinator is away', async () => {
      const store = await start(cluster.workers[0] ?? cluster.coordinator);
      const load = new Load(store.port, CLIENTS);
      await until(() => load.createdCount > 500);
      const before = await rateOf(load);
      await cluster.coordinator.kill();
      const during = await rateOf(load);
      figure('Creates a second through a worker: before, while the coordinator is away', `${before}, ${during}`);
      expect(during).toBeGreaterThan(before / 4);
      expect(await readyz(store)).toEqual({ status: 200, body: { status: 'ok' } });
      await cluster.coordinator.start();
      await expectNothingLost(load);
    });

    it('should lose nothing when the coordinator is killed', async () => {
      const store = await start(cluster.coordinator);
      const load = new Load(store.port, CLIENTS);
      for (let kills = 0; kills < 3; kills++) {
        const before = load.createdCount;
        await until(() => load.createdCount > before + 500);
        await cluster.coordinator.kill();
        await cluster.coordinator.start();
      }
      const before = load.createdCount;
      await until(() => load.createdCount > before + 500);
      const { outcomes, unknownStored } = await expectNothingLost(load);
      figure(
        'Coordinator killed three times',
        `${JSON.stringify([...outcomes])}, ${unknownStored} stored without an answer`,
      );
    });

    it('should lose nothing while shards move', async () => {
      const store = await start(cluster.coordinator);
      const load = new Load(store.port, CLIENTS);
      await until(() => load.createdCount > 500);
      const moved = await moveShards();
      const before = load.createdCount;
      await until(() => load.createdCount > before + 500);
      const { acknowledged, outcomes } = await expectNothingLost(load);
      figure(`Answers while ${moved} shards move`, `${acknowledged} created, ${JSON.stringify([...outcomes])}`);
    });

    it('should create the same by a map that has two shards for four', async () => {
      jest.spyOn(ShardedWriter.prototype, 'readShards').mockResolvedValue([-(2 ** 31), 0]);
      const store = await start(cluster.coordinator);
      const load = new Load(store.port, CLIENTS);
      await until(() => load.createdCount > 500);
      await moveShards();
      const before = load.createdCount;
      await until(() => load.createdCount > before + 500);
      await expectNothingLost(load);
    });

    it('should give each id to one, next to an instance that knows no shards', async () => {
      const map = jest.spyOn(ShardedWriter.prototype, 'readShards').mockResolvedValue([]);
      const earlier = await start(cluster.coordinator);
      map.mockRestore();
      const current = await Promise.all(cluster.nodes.map((node) => start(node)));
      await expectOneEach([earlier, ...current], 200);
    });
  });
});
