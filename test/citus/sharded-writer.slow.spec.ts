import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashInt8, ShardedWriter } from '../../src/plants/sharded-writer.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/request.js';
import { startStoreOn, type Store } from '../support/service/store.js';

const IDS = Array.from({ length: 40 }, (_, id) => id);

/** What the store reads of Citus: enough for it to send, in an ordinary database, what it sends for four shards. Superusers only. */
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

/** There are four shards; the database is an ordinary one, to which it is all the same. */
describe(ShardedWriter.name, () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(STAND_IN_CITUS);
    store = await startStoreOn(database);
  });
  afterEach(() => store.database.query('TRUNCATE plants'));
  afterAll(async () => {
    await store.stop();
    await database.drop();
  });

  const stored = (): Promise<{ id: string; name: string }[]> =>
    store.database.query('SELECT id::text, name FROM plants ORDER BY plants.id');

  it('should hash every id as the database does', async () => {
    const ids = fc.sample(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), 2000);
    const rows = await store.database.query<{ hash: number }>(
      'SELECT hashint8(id) AS hash FROM unnest($1::bigint[]) WITH ORDINALITY AS sample (id, position) ORDER BY position',
      [ids.map(String)],
    );
    expect(ids.map(hashInt8)).toEqual(rows.map(({ hash }) => hash));
  });

  it('should send the plants of each shard by themselves, as rows of constants', async () => {
    const before = store.statistics.statementPlants.count;
    const answers = await createTogether(
      store.port,
      IDS.map((id) => ({ body: `{"id":${id},"name":"Rose ${id}"}` })),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(Array(40).fill(200));
    expect(store.statistics.statementPlants.count - before).toBeGreaterThanOrEqual(4);
    expect(await stored()).toEqual(Array.from({ length: 40 }, (_, id) => ({ id: String(id), name: `Rose ${id}` })));
    const ids = await store.database.query('SELECT write_id FROM plants GROUP BY 1');
    expect(ids).toHaveLength(40);
  });

  it('should repeat the shortest plant, and not a long one', async () => {
    const long = 'long '.repeat(10_000);
    const shard = IDS.filter((id) => hashInt8(BigInt(id)) < -(2 ** 30)).slice(0, 3);
    const answers = await createTogether(
      store.port,
      shard.map((id, i) => ({ body: JSON.stringify({ id, name: i === 1 ? 'Rose' : long }) })),
    );
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200]);
    expect((await stored()).map(({ name }) => name)).toEqual([long, 'Rose', long]);
  });

  it('should not start in sessions that could lose what they have acknowledged', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c synchronous_commit=off');
    await expect(startStoreOn({ ...database, url: url.href })).rejects.toThrow(
      /synchronous_commit is off in this session: plants could be lost\..* leave it out of DATABASE_URL/,
    );
  });
});
