import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CitusCluster, describeWithCitus } from '../support/database/citus-cluster.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn, type Store } from '../support/service/store.js';

describeWithCitus('Citus', () => {
  let cluster: CitusCluster;

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    for (const command of ['migrate', 'distribute'])
      expect(await outcomeOfCommandLine(command, { DATABASE_URL: cluster.coordinator.url() })).toMatchObject({
        code: 0,
      });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  it('should take creates on any node', async () => {
    for (const [i, node] of cluster.nodes.entries()) {
      const store = await startStoreOn({ url: node.url() } as Store['database']);
      expect((await store.post(`{"id":${i},"name":"Rose"}`)).status).toBe(200);
      await store.stop();
    }
  });
});
