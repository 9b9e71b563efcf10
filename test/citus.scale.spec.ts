import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Migrator } from '../src/database/migrations/migrator.js';
import { CitusCluster, describeWithCitus } from './support/citus-cluster.js';
import { startStoreOn, type Store } from './support/store.js';

describeWithCitus('Citus', () => {
  let cluster: CitusCluster;

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    await new Migrator({ url: cluster.coordinator.url }).migrate();
    for (const table of ['access_tokens', '_prisma_migrations'])
      await cluster.coordinator.query(`SELECT create_reference_table('${table}')`);
    await cluster.coordinator.query(`SELECT create_distributed_table('plants', 'id', shard_count := 4)`);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  it('should take creates on any node', async () => {
    for (const [i, node] of cluster.nodes.entries()) {
      const store = await startStoreOn({ url: node.url } as Store['database']);
      expect((await store.post(`{"id":${i},"name":"Rose"}`)).status).toBe(200);
      await store.stop();
    }
  });
});
