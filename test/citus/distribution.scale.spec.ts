import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { Logger } from '@nestjs/common';
import { Load } from '../faults/load.js';
import { CitusCluster, describeWithCitus } from '../support/database/citus-cluster.js';
import { MigratorWith } from '../support/database/test-database.js';
import type { PostgresServer } from '../support/database/postgres-server.js';
import { figure } from '../support/jest/figure.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const ROWS = 100_000;

describeWithCitus('deploy/citus/distribute.sql', () => {
  let cluster: CitusCluster;

  /** As the role of the service on a node, and as the owner on the coordinator unless the other is given. */
  const run = (command: string, node = cluster.coordinator, owner = cluster.coordinator): Promise<CommandOutcome> =>
    outcomeOfCommandLine(command, { DATABASE_URL: node.url('svc'), MIGRATION_DATABASE_URL: owner.url('owner') });
  const startOn = (node: PostgresServer): Promise<Store> => startStoreOn({ url: node.url('svc') } as Store['database']);
  const failure = (text: string): unknown => ({ code: 1, stdout: '', stderr: expect.stringContaining(text) });
  const distribute = (...variables: string[]): Promise<CommandOutcome> =>
    cluster.distribute(variables, cluster.coordinator.url('owner'));
  const refusal = (text: string): unknown =>
    expect.objectContaining({ code: 3, stdout: '', stderr: expect.stringContaining(text) });

  beforeAll(async () => {
    cluster = await CitusCluster.start();
    await cluster.coordinator.query('CREATE ROLE owner LOGIN; CREATE ROLE svc LOGIN');
    await cluster.coordinator.query('ALTER DATABASE plants OWNER TO owner');
    await cluster.coordinator.query('ALTER SCHEMA public OWNER TO owner');
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  it('should stop at what is no place to distribute, and say what to do', async () => {
    const { coordinator, workers } = cluster;
    expect(await distribute()).toEqual(refusal('Run plant-store migrate'));
    expect(await run('migrate')).toMatchObject({ code: 0 });
    const hold = (may: boolean): Promise<unknown> =>
      coordinator.query(`SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', ${may})
        FROM pg_dist_node WHERE groupid > 0`);
    await hold(false);
    expect(await distribute()).toEqual(refusal('no node may hold shards'));
    await hold(true);
    const withoutCitus = coordinator.url('postgres', 'postgres');
    expect(await cluster.distribute([], withoutCitus)).toEqual(refusal('there is no Citus in this database'));
    expect(await distribute('schema=elsewhere')).toEqual(refusal('schema elsewhere lacks the tables of the store'));
    expect(await coordinator.query('SELECT logicalrelid FROM pg_dist_partition')).toEqual([]);
    expect(await workers[0]?.query(`SELECT to_regclass('plants') AS found`)).toEqual([{ found: null }]);
  });

  it('should distribute under load and lose no plant', async () => {
    const { coordinator } = cluster;
    await coordinator.query(
      `INSERT INTO plants (id, name) SELECT -i, 'old ' || i FROM generate_series(1, ${ROWS}) AS i`,
    );
    const store = await startOn(coordinator);
    await using load = new Load(store.port, 16);
    await until(() => load.createdCount > 200);
    const start = performance.now();
    const done = await distribute('shards=4');
    figure(`distributing ${ROWS} plants under load`, `${Math.round(performance.now() - start)} ms`);
    expect(done).toEqual({
      code: 0,
      stdout: `copied public.access_tokens to each node
copied public._prisma_migrations to each node
distributed public.plants over 4 shards
Restart each service that was started before CREATE EXTENSION citus.
`,
      stderr: expect.any(String),
    });
    const before = load.createdCount;
    await until(() => load.createdCount > before + 100);
    await load.stop();
    await store.stop();
    const rows = await coordinator.query<{ id: string; name: string; tag: string | null; key: string | null }>(
      "SELECT id::text, name, tag, idempotency_key AS key FROM plants WHERE id > 0 OR name NOT LIKE 'old %'",
    );
    const { lost, storedThoughRefused, foreign, outcomes } = load.compareWith(rows);
    figure('answers meanwhile', [...outcomes].map((each) => each.join(': ')).join(', '));
    expect({ lost, storedThoughRefused, foreign }).toEqual({ lost: 0, storedThoughRefused: 0, foreign: 0 });
    expect(await coordinator.query(`SELECT count(*)::int FROM plants WHERE name LIKE 'old %'`)).toEqual([
      { count: ROWS },
    ]);
    expect(await coordinator.query(`SELECT pg_relation_size('plants')::int AS rest`)).toEqual([{ rest: 0 }]);
  });

  it('should do nothing if it is done, and refuse another number of shards', async () => {
    expect(await distribute('shards=4')).toEqual({
      code: 0,
      stdout: `public.access_tokens is on each node already
public._prisma_migrations is on each node already
public.plants is distributed over 4 shards already
`,
      stderr: '',
    });
    expect(await distribute()).toEqual(refusal('plants has 4 shards already, not 32'));
    expect(await cluster.distribute(['shards=4'], cluster.workers[0]?.url())).toEqual(refusal('this is a worker'));
  });

  it('should finish what was begun, in any schema, and refuse what is distributed otherwise', async () => {
    const { coordinator } = cluster;
    expect(await run('migrate --schema my_half')).toMatchObject({ code: 0 });
    await coordinator.query(`INSERT INTO my_half.plants (id, name) VALUES (1, 'Rose')`);
    await coordinator.query(`SELECT create_distributed_table('my_half.plants', 'id')`);
    const { code, stdout } = await distribute('schema=my_half');
    expect([code, stdout]).toEqual([0, expect.stringContaining('copied my_half.access_tokens to each node')]);
    expect(stdout).toContain('my_half.plants is distributed over 32 shards already');
    expect(await coordinator.query('SELECT name FROM my_half.plants')).toEqual([{ name: 'Rose' }]);
    await coordinator.query('DROP SCHEMA my_half CASCADE');

    expect(await run('migrate --schema other')).toMatchObject({ code: 0 });
    await coordinator.query(`SELECT create_distributed_table('other._prisma_migrations', 'id')`);
    const wrong = 'other._prisma_migrations is distributed, should be a reference table';
    expect(await distribute('schema=other')).toEqual(refusal(wrong));
    await coordinator.query(`SELECT create_reference_table('other.plants')`);
    expect(await distribute('schema=other')).toEqual(refusal('plants is distributed by no column, should be by id'));
    await coordinator.query('DROP SCHEMA other CASCADE');
  });

  it('should change tokens through any node, and record their use', async () => {
    for (const [i, node] of cluster.nodes.entries()) {
      const name = `gardener${i}`;
      const made = await run(`token create ${name}`, node);
      expect(made).toMatchObject({ code: 0 });
      const store = await startOn(node);
      const token = bearer(made.stdout.trim());
      expect((await store.post(`{"id":${1e12 + i},"name":"Rose"}`, token)).status).toBe(200);
      await store.stop();
      const others = cluster.nodes.filter((other) => other !== node);
      for (const other of others) {
        const [row] = await other.query(
          `SELECT last_used_at > now() - interval '1 minute' AS used FROM access_tokens WHERE name = '${name}'`,
        );
        expect(row).toEqual({ used: true });
      }
      const rotated = await run(`token rotate ${name} --overlap 1h`, others[0]);
      expect(rotated).toMatchObject({ code: 0, stderr: expect.stringContaining('stays valid') });
      expect(await run(`token rotate ${name} --overlap 0`, others[1])).toMatchObject({ code: 0 });
      expect(await run(`token create ${name}`, node)).toEqual(failure('already'));
      expect(await run(`token revoke ${name}`, node)).toMatchObject({ code: 0 });
    }
  });

  it('should migrate what is distributed', async () => {
    const { coordinator } = cluster;
    const newer = { '20990101000000_add_height': 'ALTER TABLE "plants" ADD COLUMN "height" INTEGER;' };
    const url = coordinator.url('owner');
    const migrator = new MigratorWith({ url, grantTo: 'svc' }, newer);
    expect(await migrator.migrate()).toEqual(['20990101000000_add_height']);
    expect(await migrator.migrate()).toEqual([]);
    for (const node of cluster.nodes) {
      expect(await node.query('SELECT height FROM plants WHERE id = -1')).toEqual([{ height: null }]);
      expect(await new MigratorWith({ url: node.url('svc') }, newer).status()).toBe('current');
    }
    await coordinator.query('ALTER TABLE plants DROP COLUMN height');
    await coordinator.query(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '2099%'`);

    const reader = new pg.Client(cluster.workers[0]?.url());
    await reader.connect();
    await reader.query('BEGIN; SELECT count(*) FROM plants');
    const start = performance.now();
    await expect(new MigratorWith({ url }, newer).migrate()).rejects.toMatchObject({ code: 'locked' });
    expect(performance.now() - start).toBeLessThan(10_000);
    await reader.end();
    expect(await migrator.migrate()).toEqual(['20990101000000_add_height']);
    await coordinator.query('ALTER TABLE plants DROP COLUMN height');
    await coordinator.query(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '2099%'`);
  });

  it('should not start if a node may lose what it has acknowledged', async () => {
    const { coordinator, workers } = cluster;
    await workers[1]?.set('synchronous_commit', 'off');
    await until(async () => (await workers[1]?.query('SHOW synchronous_commit'))?.[0]?.synchronous_commit === 'off');
    const fix = 'Run on the coordinator: ALTER ROLE svc IN DATABASE plants SET synchronous_commit = on';
    const fault = `synchronous_commit is off on node 127.0.0.1:${workers[1]?.port}: plants could be lost. ${fix}`;
    for (const node of cluster.nodes) await expect(startOn(node)).rejects.toThrow(fault);
    expect(await run('serve --check')).toMatchObject({ code: 78, stderr: expect.stringContaining(fault) });
    await coordinator.query('ALTER ROLE svc IN DATABASE plants SET synchronous_commit = on');
    await (await startOn(coordinator)).stop();
  });

  it('should not start if its own sessions may lose what they have acknowledged', async () => {
    for (const node of cluster.nodes) {
      const url = `${node.url('svc')}?options=-c%20synchronous_commit%3Doff`;
      await expect(startStoreOn({ url } as Store['database'])).rejects.toThrow(
        /synchronous_commit is off in this session: plants could be lost\..* leave it out of DATABASE_URL/,
      );
    }
  });

  it('should start while a worker is silent', async () => {
    const [first, silent] = cluster.workers as [PostgresServer, PostgresServer];
    await silent.signalAll('SIGSTOP');
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    try {
      for (const node of [cluster.coordinator, first]) {
        warn.mockClear();
        const start = performance.now();
        await (await startOn(node)).stop();
        // Citus itself would wait for 30 seconds.
        expect(performance.now() - start).toBeLessThan(20_000);
        expect(warn.mock.calls.join()).toContain('synchronous_commit of the nodes is not known: ');
      }
    } finally {
      warn.mockRestore();
      await silent.signalAll('SIGCONT');
    }
  });

  it('should say which node is down, change nothing, and verify tokens meanwhile', async () => {
    const { coordinator, workers } = cluster;
    const made = await run('token create early');
    const [first, dead] = workers as [PostgresServer, PostgresServer];
    await dead.kill();
    const down = `connection to the remote node svc@127.0.0.1:${dead.port} failed`;
    for (const node of [coordinator, first]) {
      expect(await run('token create late', node)).toEqual(failure(down));
      expect(await run('token revoke early', node)).toEqual(failure(down));
      expect((await run('token list', node)).stdout).toMatch(/early .* valid/);
      expect((await run('token list', node)).stdout).not.toContain('late');
      const store = await startOn(node);
      expect((await store.post('{}', bearer(made.stdout.trim()))).body).toContain('40003');
      await store.stop();
    }
    await dead.start();
    expect(await run('token revoke early')).toMatchObject({ code: 0 });
  });
});
