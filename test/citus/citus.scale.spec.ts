import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { hashInt8 } from '../../src/plants/citus-plants.repository.js';
import { runningTarget } from '../contract/contract-target.js';
import { describePlants } from '../contract/plants.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { Load } from '../support/http/load.js';
import { type CommandOutcome, describeWith, outcomeOfCommandLine } from '../support/service/process.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { bearer } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

const exec = promisify(execFile);

/** Where Debian puts PostgreSQL, for the newest version that has Citus. */
const HOME = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}`)
  .find((path) => existsSync(`${path}/lib/citus.so`));
const MISSING = 'there is no PostgreSQL with Citus in /usr/lib/postgresql. Install both (deploy/citus/README.md).';
const SETTINGS = {
  shared_preload_libraries: 'citus',
  max_connections: 200,
  max_prepared_transactions: 200,
  // For a move of shards.
  wal_level: 'logical',
  'citus.enable_statistics_collection': 'off',
  'citus.node_conninfo': 'sslmode=disable',
};
const CLIENTS = 16;
const ENOUGH = 200;
const OLD_PLANTS = 100_000;
/** Of the service, by default. */
const STORAGE_TIMEOUT_MS = 5000;

async function createNode(): Promise<PostgresServer> {
  const node = await PostgresServer.create(SETTINGS, `${HOME}/bin`);
  await node.query('CREATE EXTENSION citus');
  return node;
}

describeWith(HOME === undefined ? MISSING : undefined, 'On Citus', () => {
  let coordinator: PostgresServer;
  let worker: PostgresServer;
  let other: PostgresServer;
  let nodes: PostgresServer[];

  beforeAll(async () => {
    nodes = await Promise.all(Array.from({ length: 3 }, createNode));
    [coordinator, worker, other] = nodes as [PostgresServer, PostgresServer, PostgresServer];
    await coordinator.query(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of [worker, other]) await coordinator.query(`SELECT citus_add_node('127.0.0.1', ${port})`);
    await coordinator.query('CREATE ROLE owner LOGIN; CREATE ROLE svc LOGIN');
    await coordinator.query('ALTER DATABASE plants OWNER TO owner');
    await coordinator.query('ALTER SCHEMA public OWNER TO owner');
  });
  afterAll(() => Promise.all(nodes.map((node) => node.remove())));

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
  const more = async (load: Load): Promise<void> => {
    const before = load.created.length;
    await until(() => load.created.length >= before + ENOUGH);
  };
  async function expectNothingLost(load: Load): Promise<void> {
    await load.stop();
    expect(await load.compareWith(coordinator)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    const storageFailures: unknown[] = [50300, 50301, 50400];
    expect(load.failures.filter((outcome) => !storageFailures.includes(outcome))).toEqual([]);
  }

  describe('distribute.sql', () => {
    const distribute = (args: readonly string[] = [], url = coordinator.url('owner')): Promise<unknown> =>
      exec('psql', ['-X', ...args, '-f', 'deploy/citus/distribute.sql', url]).catch((error: unknown) => error);
    const said = (text: string): object => ({ stdout: expect.stringContaining(text) });
    const stopped = (text: string): object => ({ code: 3, stderr: expect.stringContaining(text) });

    it('should stop at what is no place to distribute, and say what to do', async () => {
      expect(await distribute()).toMatchObject(stopped('Run plant-store migrate'));
      expect(await run('migrate')).toMatchObject({ code: 0 });
      const elsewhere = await distribute([], coordinator.url('postgres', 'postgres'));
      expect(elsewhere).toMatchObject(stopped('there is no Citus in this database'));
      expect(await coordinator.query('SELECT logicalrelid FROM pg_dist_partition')).toEqual([]);
    });

    it('should distribute under load, lose no plant, and do nothing if it is done', async () => {
      const old = `SELECT -i, 'old' FROM generate_series(1, ${OLD_PLANTS}) AS i`;
      await coordinator.query(`INSERT INTO plants (id, name) ${old}`);
      const store = await startOn(coordinator);
      await using load = new Load(store.port, CLIENTS);
      await more(load);
      expect(await distribute(['-v', 'shards=4'])).toMatchObject(said('public.plants over 4 shards'));
      await more(load);
      await expectNothingLost(load);
      await store.stop();
      const rows = await coordinator.query(`SELECT count(*)::int FROM plants WHERE name = 'old'`);
      expect(rows).toEqual([{ count: OLD_PLANTS }]);
      expect(await distribute(['-v', 'shards=4'])).toMatchObject(said('4 shards already'));
      expect(await distribute()).toMatchObject(stopped('plants has 4 shards already, not 32'));
    });
  });

  describe('asked through a worker', () => {
    describePlants(runningTarget(() => startOn(worker, 'postgres')));
  });

  it('should change tokens through any node, for all', async () => {
    for (const [index, node] of nodes.entries()) {
      const { stdout: token } = await run(`token create gardener${index}`, node);
      const store = await startOn(nodes[(index + 1) % 3] ?? coordinator);
      const post = async (): Promise<string> => (await store.post('{}', bearer(token.trim()))).body;
      expect(await post()).toContain('40003');
      expect(await run(`token revoke gardener${index}`, node)).toMatchObject({ code: 0 });
      await until(async () => (await post()).includes('40101'));
      await store.stop();
    }
  });

  describe('under load', () => {
    let store: Store;

    const shardsOn = ({ port }: PostgresServer): Promise<{ id: string; min: number; max: number }[]> =>
      coordinator.query(`SELECT shardid::text AS id, shardminvalue::int AS min, shardmaxvalue::int AS max
        FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
        WHERE logicalrelid = 'plants'::regclass AND nodeport = ${port}`);

    async function moveShards(): Promise<void> {
      const [from, to] = [worker, other].map(({ port }) => `'127.0.0.1', ${port}`);
      for (const { id } of await shardsOn(worker))
        await coordinator.query(`SELECT citus_move_shard_placement(${id}, ${from}, ${to}, 'force_logical')`);
    }

    beforeEach(() => coordinator.query('TRUNCATE plants'));
    afterEach(async () => {
      for (const node of nodes) {
        await node.signalAll('SIGCONT');
        await node.start();
      }
      await store.stop();
    });

    it('should create in one phase', async () => {
      store = await startOn(coordinator);
      for (const node of nodes) await node.set('log_statement', 'all');
      const before = await Promise.all(nodes.map(async (node) => (await node.log()).length));
      const load = new Load(store.port, CLIENTS);
      await more(load);
      await expectNothingLost(load);
      const logs = await Promise.all(nodes.map(async (node, i) => (await node.log()).slice(before[i])));
      for (const node of nodes) await node.set('log_statement', 'none');
      expect(logs.join()).toContain('INSERT INTO public.plants_');
      expect(logs.join()).not.toContain('PREPARE TRANSACTION');
    });

    it.each([
      ['killed', () => worker.kill(), () => worker.start()],
      ['stopped', () => worker.signalAll('SIGSTOP'), () => worker.signalAll('SIGCONT')],
    ])('should go on in other shards while a worker is %s, and in all afterwards', async (_, end, begin) => {
      store = await startOn(coordinator);
      const shards = await shardsOn(worker);
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

    it.each([
      ['the coordinator is away', () => worker, () => coordinator.kill(), () => coordinator.start()],
      ['shards move', () => coordinator, moveShards, () => undefined],
    ])('should go on, and lose nothing, while %s', async (_, through, begin, end) => {
      store = await startOn(through());
      const load = new Load(store.port, CLIENTS);
      await more(load);
      await begin();
      await more(load);
      await end();
      await expectNothingLost(load);
    });
  });
});
