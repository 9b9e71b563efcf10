import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { Citus } from '../../src/citus/citus.js';
import { hashInt8 } from '../../src/citus/shards.js';
import { createStandInCitus } from '../support/database/stand-in-citus.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/create-together.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

/** Four shards on two nodes; the database is an ordinary one, to which it is all the same. */
const MAP = [0, 1, 2, 3].map((i) => ({ minHash: -(2 ** 31) + i * 2 ** 30, node: i % 2 === 0 ? 'a:1' : 'b:2' }));
const nodeOf = (id: number): string => MAP.findLast(({ minHash }) => minHash <= hashInt8(BigInt(id)))?.node ?? '';
const idsOf = (node: string): number[] => Array.from({ length: 40 }, (_, id) => id).filter((id) => nodeOf(id) === node);
const FIRST = idsOf('a:1');
const SECOND = idsOf('b:2');

describe('A writer with shards', () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    jest.spyOn(Citus.prototype, 'findShards').mockResolvedValue(MAP);
    database = await createTestDatabase();
    await createStandInCitus(database);
    store = await startStoreOn(database, { ERROR_STATUS: 'semantic', STORAGE_TIMEOUT: '2000' });
    // Says of some nodes what a server says that cannot reach another.
    await store.database.query('CREATE TABLE away (ids bigint[])');
    await store.database.query('INSERT INTO away VALUES (ARRAY[]::bigint[])');
    await store.database.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM away, unnest(ids) AS id WHERE current_query() LIKE '% AND id = ' || id) OR
          (TG_LEVEL = 'ROW' AND EXISTS (SELECT FROM away WHERE NEW.id = ANY(ids)))
        THEN RAISE EXCEPTION USING ERRCODE = '08006'; END IF;
        RETURN NEW;
      END $$`);
    for (const level of ['STATEMENT', 'ROW'])
      await store.database.query(
        `CREATE TRIGGER fail_${level} BEFORE INSERT ON plants FOR EACH ${level} EXECUTE FUNCTION fail()`,
      );
  });
  afterEach(async () => {
    await store.database.query('TRUNCATE plants');
    await setAway([]);
    await until(async () => (await readiness()).includes('"ok"'));
  });
  afterAll(async () => {
    await store.stop();
    await database.drop();
    jest.restoreAllMocks();
  });

  const setAway = (ids: number[]): Promise<unknown> => store.database.query('UPDATE away SET ids = $1', [ids]);
  const create = (id: number | string, headers = {}, name = 'Rose'): Promise<RawResponse> =>
    store.post(`{"id":${id},"name":${JSON.stringify(name)}}`, headers);
  const readiness = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).text();
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
      [...FIRST, ...SECOND].map((id) => ({ body: `{"id":${id},"name":"Rose ${id}"}` })),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(Array(40).fill(200));
    expect(store.statistics.statementPlants.count - before).toBeGreaterThanOrEqual(4);
    expect(await stored()).toEqual(Array.from({ length: 40 }, (_, id) => ({ id: String(id), name: `Rose ${id}` })));
    const ids = await store.database.query('SELECT write_id FROM plants GROUP BY 1');
    expect(ids).toHaveLength(40);
  });

  it('should store ids over all of int64', async () => {
    for (const id of [`${2n ** 63n - 1n}`, `${-(2n ** 63n)}`, '0'])
      expect(await create(id)).toMatchObject({ status: 200 });
    expect((await stored()).map(({ id }) => id)).toEqual([`${-(2n ** 63n)}`, '0', `${2n ** 63n - 1n}`]);
  });

  it('should give an id to one of several creates at a time, and to none later', async () => {
    for (const id of [...FIRST, ...SECOND].slice(0, 30)) {
      const bodies = [0, 1, 2, 3, 4].map((i) => ({ body: `{"id":${id},"name":"Rose ${i}"}` }));
      const answers = await createTogether(store.port, bodies);
      expect(answers.map((answer) => answer?.status).sort()).toEqual([200, 409, 409, 409, 409]);
    }
    expectRefusal(await create(FIRST[0] ?? 0), 40901, 'semantic');
  });

  it('should repeat the shortest plant, and not a long one', async () => {
    const long = 'long '.repeat(10_000);
    const shard = FIRST.filter((id) => hashInt8(BigInt(id)) < -(2 ** 30)).slice(0, 3);
    const answers = await createTogether(
      store.port,
      shard.map((id, i) => ({ body: JSON.stringify({ id, name: i === 1 ? 'Rose' : long }) })),
    );
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200]);
    expect((await stored()).map(({ name }) => name)).toEqual([long, 'Rose', long]);
  });

  it('should recognise a repetition by its key', async () => {
    const [id] = FIRST as [number];
    const headers = { 'Idempotency-Key': 'key' };
    expect(await create(id, headers)).toMatchObject({ status: 200 });
    expect(await create(id, headers)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expectRefusal(await create(id, headers, 'Tulip'), 40902, 'semantic');
    expectRefusal(await create(id, { 'Idempotency-Key': 'other' }), 40901, 'semantic');
    expect(await stored()).toHaveLength(1);
  });

  it('should refuse creates for shards of a node that does not answer, go on with the others, and take them again', async () => {
    Logger.overrideLogger(false);
    try {
      const [id] = FIRST as [number];
      await setAway(FIRST);
      // The first was sent, and what came of it is unknown.
      const first = create(id);
      await until(async () => (await create(FIRST[1] ?? 0)).body.includes('50300'));
      using stopwatch = new Stopwatch();
      const refused = await create(FIRST[2] ?? 0);
      expect(stopwatch.elapsed).toBeLessThan(1500);
      expect(expectRefusal(refused, 50300, 'semantic')).toMatch('Nothing was written');
      expect(await create(SECOND[0] ?? 0)).toMatchObject({ status: 200 });
      await until(async () => (await readiness()).includes('degraded: shards of a:1 do not answer'));
      expectRefusal(await first, 50400, 'semantic');
      await setAway([]);
      await until(async () => (await create(id)).status === 200);
    } finally {
      Logger.overrideLogger(true);
    }
  });

  it('should not be ready if no shard answers', async () => {
    await setAway([...FIRST, ...SECOND]);
    await until(async () => (await readiness()).includes('the database cannot be reached'));
  });
});
