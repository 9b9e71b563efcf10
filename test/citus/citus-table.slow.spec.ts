import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { Migrator } from '../../src/index.js';
import { CitusPlantsRepository, hashInt8 } from '../../src/plants/citus-plants.repository.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { startStoreOn, type Store } from '../support/service/store.js';

/** What the store reads of Citus: with it an ordinary database gets what it sends for four shards. Superusers only. */
const STAND_IN_CITUS = `SET allow_system_table_mods = on;
  SET search_path = pg_catalog;
  CREATE TABLE pg_dist_shard (logicalrelid regclass, shardminvalue text);
  CREATE TABLE pg_dist_node (nodeid int, nodename text, nodeport int);
  CREATE FUNCTION run_command_on_all_nodes(command text, OUT nodeid int, OUT success bool, OUT result text)
    RETURNS SETOF record LANGUAGE sql RETURN (1, true, 'on'::text);
  INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    VALUES (16000, 'citus', 10, 11, false, '13.2');
  INSERT INTO pg_dist_shard
    SELECT 'public.plants', (-2147483648 + shard::bigint * 1073741824)::text FROM generate_series(0, 3) AS shard`;

describe(CitusPlantsRepository.name, () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(STAND_IN_CITUS);
    store = await startStoreOn(database);
  });
  afterAll(async () => {
    await store.stop();
    await database.drop();
  });

  it('should hash every id as the database does', async () => {
    const ids = fc.sample(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), 2000);
    const rows = await database.query<{ hash: number }>(
      `SELECT hashint8(id) AS hash FROM unnest($1::bigint[]) WITH ORDINALITY AS sample (id, position)
       ORDER BY position`,
      [ids.map(String)],
    );
    expect(ids.map(hashInt8)).toEqual(rows.map(({ hash }) => hash));
  });

  it('should send the plants of each shard by themselves', async () => {
    const plants = Array.from({ length: 40 }, (_, id) => ({ id: String(id), name: `Rose ${id}` }));
    const statements = jest.spyOn(store.statistics, 'observeStatement');
    const answers = await Promise.all(plants.map(({ id, name }) => store.post(`{"id":${id},"name":"${name}"}`)));
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
    expect(statements.mock.calls.length).toBeGreaterThanOrEqual(4);
    expect(await database.query('SELECT id, name FROM plants ORDER BY plants.id')).toEqual(plants);
  });

  it('should start for a role that may not execute what only an undistributed table needs', async () => {
    const role = `plants_citus_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'a-password-of-the-tests';
      GRANT SELECT ON pg_catalog.pg_dist_shard, pg_catalog.pg_dist_node TO ${role};
      DO $$ BEGIN EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || (SELECT oid::regprocedure FROM pg_proc
        WHERE prosrc = 'pg_logical_emit_message_text') || ' FROM PUBLIC'; END $$`);
    await new Migrator({ url: database.url, grantTo: role }).migrate();
    const url = Object.assign(new URL(database.url), { username: role, password: 'a-password-of-the-tests' }).href;
    const other = await startStoreOn({ ...database, url });
    expect((await fetch(`http://127.0.0.1:${other.managementPort}/readyz`)).status).toBe(200);
    for (const answer of ['"Fern"', '40901'])
      expect((await other.post('{"id":-7,"name":"Fern"}')).body).toContain(answer);
    await other.stop();
    const distribute = (table: string): Promise<unknown> =>
      database.query(`UPDATE pg_catalog.pg_dist_shard SET logicalrelid = '${table}'`);
    await distribute('access_tokens');
    await expect(startStoreOn({ ...database, url })).rejects.toThrow('Run GRANT EXECUTE');
    await distribute('plants');
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it('should not start on nodes that could lose what they have acknowledged', async () => {
    await database.query(`INSERT INTO pg_catalog.pg_dist_node VALUES (1, 'worker', 5432)`);
    for (const setting of ['off', 'local', 'remote_write']) {
      await database.query(`CREATE OR REPLACE FUNCTION
        pg_catalog.run_command_on_all_nodes(command text, OUT nodeid int, OUT success bool, OUT result text)
        RETURNS SETOF record LANGUAGE sql RETURN (1, true, '${setting}'::text)`);
      const found = `synchronous_commit is ${setting} on node worker:5432: plants could be lost`;
      await expect(startStoreOn(database)).rejects.toThrow(`${found}. Run on the coordinator: ALTER ROLE`);
    }
  });
});
