import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Citus } from '../src/database/citus.js';
import { Migrator } from '../src/database/migrations/migrator.js';
import { describeContract } from './contract/describe-contract.js';
import { runningTarget } from './contract/running-target.js';
import { type Comparison, Load, type StoredPlant } from './faults/load.js';
import { CitusCluster, type CitusNode, describeWithCitus } from './support/citus-cluster.js';
import { figure } from './support/figure.js';
import { postHead } from './support/request.js';
import { RawConnection } from './support/raw-connection.js';
import { startStoreOn, type Store } from './support/store.js';
import { until } from './support/until.js';

const CLIENTS = 32;

describeWithCitus('The writer on Citus', () => {
  let cluster: CitusCluster;
  let stores: Store[];

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    await new Migrator({ url: cluster.coordinator.url }).migrate();
    for (const table of ['access_tokens', '_prisma_migrations'])
      await cluster.coordinator.query(`SELECT create_reference_table('${table}')`);
    await cluster.coordinator.query(`SELECT create_distributed_table('plants', 'id', shard_count := 4)`);
    stores = [];
  });
  afterEach(async () => {
    for (const node of cluster.nodes) await node.start();
    await Promise.all(stores.splice(0).map((store) => store.stop()));
    await cluster.coordinator.query('TRUNCATE plants');
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  async function startOn(node: CitusNode, variables: Record<string, string> = {}): Promise<Store> {
    const store = await startStoreOn(databaseOf(node), { ERROR_STATUS: 'semantic', ...variables });
    stores.push(store);
    return store;
  }

  const databaseOf = (node: CitusNode): Store['database'] => ({
    url: node.url,
    // The client of a test gives parameters as text too.
    query: (sql, parameters = []) => node.query(bind(sql, parameters)),
    drop: () => Promise.resolve(),
  });

  const rows = (): Promise<StoredPlant[]> =>
    cluster.coordinator.query('SELECT id::text, name, tag, idempotency_key AS key FROM plants');

  async function expectNothingLost(load: Load): Promise<Comparison> {
    await load.stop();
    const comparison = load.compareWith(await rows());
    expect(comparison).toMatchObject({ lost: 0, storedThoughRefused: 0, foreign: 0 });
    return comparison;
  }

  /** Creates a second, over so long. */
  async function rateOf(load: Load, milliseconds: number): Promise<number> {
    const [before, since] = [load.createdCount, performance.now()];
    await sleep(milliseconds);
    return ((load.createdCount - before) / (performance.now() - since)) * 1000;
  }

  async function readyz(store: Store): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${store.managementPort}/readyz`);
    return { status: response.status, body: await response.json() };
  }

  it('should create on every node, in one phase and with few statements', async () => {
    const marks = await Promise.all(
      cluster.nodes.map(async (node) => {
        await node.set('log_statement', 'all');
        return (await node.log()).length;
      }),
    );
    const started = await Promise.all(cluster.nodes.map((node) => startOn(node)));
    for (const store of started) {
      const load = new Load(store.port, CLIENTS);
      await until(() => load.createdCount > 1000);
      await load.stop();
      await cluster.coordinator.query('TRUNCATE plants');
    }
    for (const [i, node] of cluster.nodes.entries()) {
      const log = (await node.log()).slice(marks[i]);
      const creates = log.split('\n').filter((line) => /INSERT INTO .*plants/.test(line));
      expect(creates.length).toBeGreaterThan(100);
      expect(log).not.toMatch(/PREPARE TRANSACTION[\s\S]*INSERT INTO .*plants/);
      await node.set('log_statement', 'none');
    }
  });
});

/** With the values in it. */
function bind(sql: string, parameters: unknown[]): string {
  return sql.replace(/\$(\d+)/g, (_, number: string) => {
    const value = parameters[Number(number) - 1];
    const quote = (text: unknown): string =>
      text === null || text === undefined ? 'NULL' : `'${String(text).replaceAll("'", "''")}'`;
    return Array.isArray(value) ? `ARRAY[${value.map(quote).join(',')}]` : quote(value);
  });
}
