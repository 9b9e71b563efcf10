import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { describeContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { hashInt8 } from '../../src/plants/sharded-writer.js';
import type { PostgresServer } from '../support/database/postgres-server.js';
import { Load } from '../support/http/load.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';
import { CitusCluster, describeWithCitus } from './citus-cluster.js';

const CLIENTS = 16;
const ENOUGH = 500;
const OLD_PLANTS = 100_000;
/** Of the service, by default. */
const STORAGE_TIMEOUT_MS = 5000;

describeWithCitus('On Citus', () => {
  let cluster: CitusCluster;
  let coordinator: PostgresServer;
  let worker: PostgresServer;

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    ({ coordinator } = cluster);
    [worker] = cluster.workers as [PostgresServer];
    await coordinator.query('CREATE ROLE owner LOGIN; CREATE ROLE svc LOGIN');
    await coordinator.query('ALTER DATABASE plants OWNER TO owner');
    await coordinator.query('ALTER SCHEMA public OWNER TO owner');
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const startOn = (node: PostgresServer, user = 'svc'): Promise<Store> =>
    startStoreOn({ url: node.url(user), drop: () => Promise.resolve() } as Store['database'], {
      ERROR_STATUS: 'semantic',
    });
  /** As the role of the service on a node, and as the owner on the coordinator. */
  const run = (command: string, node = coordinator): Promise<CommandOutcome> =>
    outcomeOfCommandLine(command, {
      DATABASE_URL: node.url('svc'),
      MIGRATION_DATABASE_URL: coordinator.url('owner'),
    });
  const more = async (load: Load, plants = ENOUGH): Promise<void> => {
    const before = load.created.length;
    await until(() => load.created.length >= before + plants);
  };
  async function expectNothingLost(load: Load): Promise<void> {
    await load.stop();
    expect(await load.compareWith(coordinator)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    const storageFailures: unknown[] = [50300, 50301, 50400];
    expect(load.failures.filter((outcome) => !storageFailures.includes(outcome))).toEqual([]);
  }

  describe('distribute.sql', () => {
    const distribute = (...variables: string[]): Promise<CommandOutcome> =>
      cluster.distribute(variables, coordinator.url('owner'));

    it('should stop at what is no place to distribute, and say what to do', async () => {
      expect(await distribute()).toMatchObject({ code: 3, stderr: expect.stringContaining('Run plant-store migrate') });
      expect(await run('migrate')).toMatchObject({ code: 0 });
      const elsewhere = await cluster.distribute([], coordinator.url('postgres', 'postgres'));
      expect(elsewhere).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('there is no Citus in this database'),
      });
      expect(await coordinator.query('SELECT logicalrelid FROM pg_dist_partition')).toEqual([]);
    });

    it('should distribute under load, lose no plant, and do nothing if it is done', async () => {
      const old = `SELECT -i, 'old' FROM generate_series(1, ${OLD_PLANTS}) AS i`;
      await coordinator.query(`INSERT INTO plants (id, name) ${old}`);
      const store = await startOn(coordinator);
      await using load = new Load(store.port, CLIENTS);
      await more(load, 200);
      expect(await distribute('shards=4')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('public.plants over 4 shards'),
      });
      await more(load, 100);
      await expectNothingLost(load);
      await store.stop();
      const rows = await coordinator.query(`SELECT count(*)::int FROM plants WHERE name = 'old'`);
      expect(rows).toEqual([{ count: OLD_PLANTS }]);
      expect(await distribute('shards=4')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('4 shards already'),
      });
      const other = { code: 3, stderr: expect.stringContaining('plants has 4 shards already, not 32') };
      expect(await distribute()).toMatchObject(other);
    });
  });

  describe('asked through a worker', () => {
    describeContract(runningTarget(() => startOn(worker, 'postgres')));
  });

  it('should change tokens through any node, for all', async () => {
    for (const [index, node] of cluster.nodes.entries()) {
      const made = await run(`token create gardener${index}`, node);
      expect(made.code).toBe(0);
      const store = await startOn(cluster.nodes[(index + 1) % 3] ?? coordinator);
      const post = async (): Promise<string> => (await store.post('{}', bearer(made.stdout.trim()))).body;
      expect(await post()).toContain('40003');
      for (const command of ['rotate', 'revoke'])
        expect(await run(`token ${command} gardener${index}`, node)).toMatchObject({ code: 0 });
      await until(async () => (await post()).includes('40101'));
      await store.stop();
    }
  });

  it('should not start if a node may lose what it has acknowledged', async () => {
    await worker.set('synchronous_commit', 'off');
    await until(async () => (await worker.query('SHOW synchronous_commit'))[0]?.synchronous_commit === 'off');
    const fault = `synchronous_commit is off on node 127.0.0.1:${worker.port}: plants could be lost.`;
    for (const node of cluster.nodes) await expect(startOn(node)).rejects.toThrow(fault);
    await coordinator.query('ALTER ROLE svc IN DATABASE plants SET synchronous_commit = on');
    await (await startOn(coordinator)).stop();
  });

  describe('under load', () => {
    let store: Store;

    beforeEach(() => coordinator.query('TRUNCATE plants'));
    afterEach(async () => {
      for (const node of cluster.nodes) {
        await node.signalAll('SIGCONT');
        await node.start();
      }
      await store.stop();
    });

    it('should create in one phase, and by few statements', async () => {
      store = await startOn(coordinator);
      for (const each of cluster.nodes) await each.set('log_statement', 'all');
      const before = await Promise.all(cluster.nodes.map(async (each) => (await each.log()).length));
      const load = new Load(store.port, CLIENTS);
      await more(load, 1000);
      await expectNothingLost(load);
      const logs = await Promise.all(cluster.nodes.map(async (each, i) => (await each.log()).slice(before[i])));
      for (const each of cluster.nodes) await each.set('log_statement', 'none');
      expect(logs.join().match(/INSERT INTO public\.plants_/g)?.length).toBeGreaterThan(100);
      expect(logs.join()).not.toContain('PREPARE TRANSACTION');
      const names = logs.join().match(/plant-store LOG: {2}execute plant_store_\d+/g);
      expect(new Set(names).size).toBeLessThan(15);
    });

    it.each([
      ['killed', () => worker.kill(), () => worker.start()],
      ['stopped', () => worker.signalAll('SIGSTOP'), () => worker.signalAll('SIGCONT')],
    ])('should go on in other shards while a worker is %s, and in all afterwards', async (_, end, begin) => {
      store = await startOn(coordinator);
      const shards = await coordinator.query<{ min: number; max: number }>(
        `SELECT shardminvalue::int AS min, shardmaxvalue::int AS max FROM pg_dist_shard JOIN pg_dist_shard_placement
         USING (shardid) WHERE logicalrelid = 'plants'::regclass AND nodeport = ${worker.port}`,
      );
      const isLost = (id: number): boolean =>
        shards.some(({ min, max }) => min <= hashInt8(BigInt(id)) && hashInt8(BigInt(id)) <= max);
      const live = new Load(store.port, CLIENTS, (id) => !isLost(id));
      const lost = new Load(store.port, CLIENTS, isLost);
      await Promise.all([more(live), more(lost)]);
      await end();
      await more(live);
      const since = performance.now();
      const id = Array.from({ length: 100 }, (_, index) => -1 - index).find(isLost);
      expect((await store.post(`{"id":${id},"name":"Rose"}`)).body).toMatch(/"error":50(?:301|400)/);
      expect(performance.now() - since).toBeLessThan(STORAGE_TIMEOUT_MS + 500);
      await begin();
      await Promise.all([more(live), more(lost)]);
      await live.stop();
      for (const load of [live, lost]) await expectNothingLost(load);
    });

    it('should go on through a worker while the coordinator is away', async () => {
      store = await startOn(worker);
      const load = new Load(store.port, CLIENTS);
      await more(load);
      await coordinator.kill();
      await more(load);
      await coordinator.start();
      await expectNothingLost(load);
    });

    it('should lose nothing while shards move', async () => {
      store = await startOn(coordinator);
      const load = new Load(store.port, CLIENTS);
      await more(load);
      const [one, other] = cluster.workers.map(({ port }) => port);
      const shards = await coordinator.query<{ id: string }>(
        `SELECT shardid::text AS id FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
         WHERE logicalrelid = 'plants'::regclass AND nodeport = ${one}`,
      );
      for (const { id } of shards)
        await coordinator.query(
          `SELECT citus_move_shard_placement(${id}, '127.0.0.1', ${one}, '127.0.0.1', ${other}, 'force_logical')`,
        );
      await more(load);
      await expectNothingLost(load);
    });
  });
});
