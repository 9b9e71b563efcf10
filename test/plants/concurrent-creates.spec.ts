import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, TableLock } from '../support/database/test-database.js';
import {
  createTogether,
  postHead,
  RawConnection,
  type RawResponse,
  type TogetherCreate,
} from '../support/http/request.js';
import { startStore, startStoreOn, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

const QUEUE_LIMIT = 20;

const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const create = (id: number | string, name = 'Rose', tag?: string, key?: string): TogetherCreate => ({
  body: JSON.stringify({ id: 0, name, tag }).replace('0', String(id)),
  headers: { 'Idempotency-Key': key },
});
/** 200, or the number of the error. */
const outcomeOf = (response: RawResponse | undefined): number | undefined =>
  response?.status === 200 ? 200 : (JSON.parse(response?.body ?? '{}') as { error?: number }).error;

describe('Creates that come together', () => {
  let store: Store;

  beforeAll(async () => {
    // Longer than a lock is held on a slow machine.
    store = await startStore({ WRITE_QUEUE_LIMIT: String(QUEUE_LIMIT), STORAGE_TIMEOUT: '10000' });
  });
  afterEach(() => store.database.query('TRUNCATE plants'));
  afterAll(() => store.stop());

  const stored = (): Promise<object[]> => store.database.query('SELECT id, name, tag FROM plants ORDER BY plants.id');
  /** Rows that one transaction has inserted have one xmin. */
  const commits = async (): Promise<number> =>
    (await store.database.query('SELECT DISTINCT xmin::text FROM plants')).length;

  it('should share one commit, each stored exactly as sent and with its own answer', async () => {
    const statements = jest.spyOn(store.statistics, 'observeStatement');
    const odd = ['', 'NULL', '{a,b}', '\\"', "'; --", 'e\u0301', '\ud83c\udf39', '\n\t', '$1', 'Rose', 'tag'];
    const far = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '9007199254740992'];
    const plants = [
      ...odd.flatMap((text, id) => [
        { id: String(id), name: text, tag: null },
        { id: String(-1 - id), name: 'Rose', tag: text },
      ]),
      ...far.map((id) => ({ id, name: `of ${id}`, tag: null })),
    ];
    // What the next statement takes does not count among those that wait.
    expect(plants.length).toBeGreaterThan(QUEUE_LIMIT);
    const responses = await createTogether(
      store.port,
      plants.map(({ id, name, tag }) => create(id, name, tag ?? undefined)),
    );

    const answers = plants.map(({ name, tag }) => JSON.stringify({ name, tag: tag ?? undefined }));
    expect(responses.map((response) => response?.body)).toEqual(answers);
    expect(await commits()).toBe(1);
    expect(statements.mock.calls).toEqual([[plants.length, expect.any(Number)]]);
    expect(store.statistics.inFlight).toBe(0);
    expect(await stored()).toEqual(plants.sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1)));
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

  it('should be stored though they are larger together than one statement may be, each with its creator', async () => {
    const tokens = await Promise.all(['greenhouse', 'garden'].map((name) => issueToken(store.database, { name })));
    const name = 'x'.repeat(400_000);
    const credentials = [...ids(0, 6).map(() => ({})), ...tokens.map(({ headers }) => headers)];
    const responses = await Promise.all(credentials.map((headers, id) => store.post(create(id, name).body, headers)));
    for (const response of responses) expect(response.status).toBe(200);
    const creators = await store.database.query(
      `SELECT created_by AS name, count(*)::int FROM plants WHERE length(name) = 400000 GROUP BY 1 ORDER BY 1`,
    );
    const expected = { garden: 1, greenhouse: 1, static: 6 };
    expect(creators).toEqual(Object.entries(expected).map(([creator, count]) => ({ name: creator, count })));
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
      for (const id of ids(10, 6)) expect(await store.post(create(id).body)).toMatchObject({ status: 200 });
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
      sent.push(store.post(create(sent.length).body));
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

it.each([
  ['off', 'on'],
  ['remote_apply', 'remote_apply'],
])('200 should mean committed, and on the disk, though synchronous_commit is %s', async (setting, expected) => {
  const database = await createTestDatabase();
  // A deferred trigger runs in the middle of the commit.
  await database.query(`
    CREATE TABLE told (setting text);
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.told SELECT current_setting('synchronous_commit');
      PERFORM pg_advisory_xact_lock_shared(1);
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait();
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit TO ${setting}', current_database()); END $$`);
  const holder = new pg.Client(database.url);
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(1)');
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  // The longest time limit, of which no timer may make a short one.
  const store = await startStoreOn(database, { STORAGE_TIMEOUT: '86400000' });
  const connections = [await RawConnection.open(store.port), await RawConnection.open(store.port)];
  try {
    // The second one is a repetition: it waits for the first one.
    for (const [index, connection] of connections.entries()) {
      const { body, headers } = create(1, 'Rose', undefined, 'key');
      connection.send(postHead('', body, headers) + body);
      await until(async () => (await holder.query(waiting)).rowCount === index + 1);
      // The service has done its work before the commit once it has answered later requests.
      for (const later of ['{}', '{}', '{}']) expect(await store.post(later)).toMatchObject({ status: 400 });
      expect(connections.map(({ socket }) => socket.bytesRead)).toEqual([0, 0]);
      expect(await database.query('SELECT FROM plants')).toEqual([]);
    }
    await holder.query('SELECT pg_advisory_unlock(1)');
    for (const connection of connections)
      expect(await connection.response()).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    const together = await createTogether(store.port, [create(2), create(3)]);
    expect(together.map(outcomeOf)).toEqual([200, 200]);
    expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: setting }]);
    expect(await database.query('SELECT setting FROM told')).toEqual(Array(3).fill({ setting: expected }));
  } finally {
    // Ends the wait, if the test has failed.
    await holder.end();
    for (const connection of connections) connection.close();
    await store.stop();
    await database.drop();
  }
});
