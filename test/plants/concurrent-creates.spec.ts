import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TableLock } from '../support/database/test-database.js';
import { createTogether, type TogetherCreate } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const plant = (id: number | string, name = 'Rose', tag?: string): string =>
  `{"id":${id},"name":"${name}"${tag === undefined ? '' : `,"tag":"${tag}"`}}`;
const create = (id: number | string, name?: string, tag?: string, key?: string): TogetherCreate => ({
  body: plant(id, name, tag),
  headers: { 'Idempotency-Key': key },
});
/** 200, or the number of the error. */
const outcomeOf = (response: RawResponse | undefined): number | undefined =>
  response?.status === 200 ? 200 : (JSON.parse(response?.body ?? '{}') as { error?: number }).error;

const QUEUE_LIMIT = 20;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

describe('Creates that come together', () => {
  let store: Store;

  beforeAll(async () => {
    // Longer than a lock is held on a slow machine.
    store = await startStore({ WRITE_QUEUE_LIMIT: String(QUEUE_LIMIT), STORAGE_TIMEOUT: '10000' });
  });
  afterEach(() => store.database.query('TRUNCATE plants'));
  afterAll(() => store.stop());

  const stored = (): Promise<Row[]> => store.database.query('SELECT id, name, tag FROM plants ORDER BY id');
  /** Rows that one transaction has inserted have one xmin. */
  const commits = async (): Promise<number> =>
    (await store.database.query('SELECT DISTINCT xmin::text FROM plants')).length;

  it('should share one commit, each stored exactly as sent and with its own answer', async () => {
    const before = store.statistics.statementPlants.count;
    const odd = ['', 'NULL', '{a,b}', '\\"', '\\\\', "'; --", '\\u00e9\\u0301', '\\ud83c\\udf39', '\\n\\t', '$1'];
    const far = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '9007199254740992'];
    const bodies = [
      ...odd.flatMap((text, index) => [plant(index, text), plant(-1 - index, 'Rose', text)]),
      ...far.map((id) => plant(id, `of ${id}`)),
    ];
    // What the next statement takes does not count among those that wait.
    expect(bodies.length).toBeGreaterThan(QUEUE_LIMIT);
    const responses = await createTogether(
      store.port,
      bodies.map((body) => ({ body })),
    );

    const answers = bodies.map((body) => JSON.stringify({ ...(JSON.parse(body) as Row), id: undefined }));
    expect(responses.map((response) => response?.body)).toEqual(answers);
    expect(await commits()).toBe(1);
    expect(store.statistics).toMatchObject({ statementPlants: { count: before + 1 }, inFlight: 0 });
    const sent = bodies.map((body) => ({
      tag: null,
      ...(JSON.parse(body) as Partial<Row>),
      id: /-?\d+/.exec(body)?.[0],
    }));
    expect(await stored()).toEqual(sent.sort((one, other) => Number(BigInt(one.id ?? 0) - BigInt(other.id ?? 0))));
  });

  it('should give an id to the first of several, and recognise a repetition by its key and by nothing else', async () => {
    const responses = await createTogether(store.port, [
      create(7, 'Rose', 'red', 'a'),
      create(7, 'Rose', 'red', 'a'),
      create(7, 'Lily', 'red', 'a'),
      create(7, 'Rose', undefined, 'a'),
      create(7, 'Rose', 'red', 'b'),
      create(7, 'Rose', 'red'),
      create(8, 'Rose', 'red', 'a'),
    ]);

    expect(responses.map(outcomeOf)).toEqual([200, 200, 40902, 40902, 40901, 40901, 200]);
    expect(await stored()).toEqual(['7', '8'].map((id) => ({ id, name: 'Rose', tag: 'red' })));
    expect(await commits()).toBe(1);
  });

  it('should be stored though they are larger together than one statement may be', async () => {
    const name = 'x'.repeat(400_000);
    const responses = await Promise.all(ids(1, 8).map((id) => store.post(plant(id, name))));
    expect(responses.map(outcomeOf)).toEqual(ids(1, 8).map(() => 200));
    expect((await stored()).filter((row) => row.name === name)).toHaveLength(8);
  });

  it('should each be stored with the name of the token that created it', async () => {
    const tokens = await Promise.all(['greenhouse', 'garden'].map((name) => issueToken(store.database, { name })));
    const credentials = [...tokens.map(({ headers }) => headers), {}];
    await createTogether(
      store.port,
      credentials.map((headers, id) => ({ body: plant(id), headers })),
    );
    const creators = await store.database.query('SELECT created_by FROM plants ORDER BY id');
    expect(creators).toEqual(['greenhouse', 'garden', 'static'].map((name) => ({ created_by: name })));
  });

  it('should not be held back by one that waits for the lock of a row, nor those that come later', async () => {
    const other = new pg.Client(store.database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (0, 'Lily')`);
      const together = createTogether(
        store.port,
        ids(0, 7).map((id) => create(id)),
      );
      await until(async () => (await stored()).length === 6);
      for (const id of ids(10, 6)) expect(await store.post(plant(id))).toMatchObject({ status: 200 });
      expect(store.statistics.inFlight).toBe(1);
      await other.query('COMMIT');
      expect((await together).map(outcomeOf)).toEqual([40901, 200, 200, 200, 200, 200, 200]);
    } finally {
      await other.end();
    }
  });

  it('should be refused with 50301 from WRITE_QUEUE_LIMIT on, and the others be created', async () => {
    await using lock = await TableLock.take(store.database);
    // As many statements as go at a time, however long each of them takes.
    const sent: Promise<RawResponse>[] = [];
    while (sent.length < 4) {
      sent.push(store.post(plant(sent.length)));
      await lock.awaited(sent.length);
    }
    const together = createTogether(
      store.port,
      ids(10, QUEUE_LIMIT + 2).map((id) => create(id)),
    );
    await until(() => store.waiting() === QUEUE_LIMIT);
    await lock.release();

    const created = ids(0, 4 + QUEUE_LIMIT).map(() => 200);
    const responses = [...(await Promise.all(sent)), ...(await together)];
    expect(responses.map(outcomeOf)).toEqual([...created, 50301, 50301]);
    expect(await stored()).toHaveLength(created.length);
  });
});
