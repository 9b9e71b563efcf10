import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { expectRefusal, type RawResponse, type RequestHeaders } from '../support/http/request.js';
import { type ProxiedStore, startProxiedStore, startStoreOn, type Store } from '../support/service/store.js';
import { errorOf } from '../support/tokens/tokens.js';
import { Stopwatch, until } from '../support/until.js';

const QUEUE_LIMIT = 24;
/** Long enough for a busy machine to create a plant. */
const STORAGE_TIMEOUT = 3000;
/** As many as go at a time, if none of them ends. */
const STATEMENTS = 4;
const KEY = { 'Idempotency-Key': 'the first try' };

interface Create {
  body: string;
  headers?: RequestHeaders;
}
const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const create = (id: number, tag?: string, name = 'Rose'): Create => ({ body: JSON.stringify({ id, name, tag }) });

/**
 * Sends creates while as many statements as go at a time wait for a lock, so that they come to the writer together and
 * in this order. Resolves to their answers in the same order.
 */
async function createTogether(
  store: Pick<Store, 'post' | 'statistics' | 'database'>,
  statements: number,
  creates: readonly Create[],
  whileTheyWait = (): void => undefined,
): Promise<RawResponse[]> {
  await using lock = await TableLock.take(store.database);
  const sent: Promise<RawResponse>[] = [];
  while (sent.length < statements) {
    sent.push(store.post(create(-1 - sent.length, undefined, 'Before').body));
    await lock.awaited(sent.length);
  }
  const answers: Promise<RawResponse>[] = [];
  let answered = 0;
  for (const { body, headers } of creates) {
    answers.push(store.post(body, headers).finally(() => (answered += 1)));
    await until(() => store.statistics.countWaiting() + answered === answers.length);
  }
  whileTheyWait();
  await lock.release();
  for (const { status } of await Promise.all(sent)) expect(status).toBe(200);
  await store.database.query('DELETE FROM plants WHERE id < 0');
  return await Promise.all(answers);
}

describe('Creates that come together', () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase();
    // Longer than a lock is held on a slow machine.
    store = await startStoreOn(database, { WRITE_QUEUE_LIMIT: String(QUEUE_LIMIT), STORAGE_TIMEOUT: '10000' });
  });
  afterEach(() => database.query('TRUNCATE plants'));
  afterAll(async () => {
    await store.stop();
    await database.drop();
  });

  const stored = (): Promise<object[]> => database.query('SELECT id, name, tag FROM plants ORDER BY plants.id');

  it('should share one commit, each stored exactly as sent and with its own answer', async () => {
    const odd = ['', 'NULL', '{a,b}', '\\"', "'; --", 'e\u0301', '\ud83c\udf39', '\n\t', '$1', 'Rose', 'tag'];
    const plants = [
      ...odd.map((text, at) => ({ id: String(at), name: 'Rose', tag: text })),
      ...odd.map((text, at) => ({ id: String(100 + at), name: text, tag: null })),
    ];
    const creates = plants.toReversed().map(({ id, name, tag }) => create(Number(id), tag ?? undefined, name));
    const answers = plants.map(({ name, tag }) => JSON.stringify({ name, tag: tag ?? undefined }));
    expect((await createTogether(store, STATEMENTS, creates)).map(({ body }) => body)).toEqual(answers.toReversed());
    expect(await stored()).toEqual(plants);
    // In this order two statements with the same ids, of two processes, cannot wait for each other.
    const inserted = await database.query('SELECT id FROM plants ORDER BY ctid');
    expect(inserted).toEqual(plants.map(({ id }) => ({ id })));
    // Rows that one transaction has inserted have one xmin.
    expect(await database.query('SELECT DISTINCT xmin::text FROM plants')).toHaveLength(1);
  });

  it('should not be held back by one that waits for the lock of a row, nor those that come later', async () => {
    const other = new pg.Client(database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (0, 'Lily')`);
      const together = ids(0, 7).map((id) => store.post(create(id).body));
      await until(async () => (await stored()).length === 6);
      for (const id of ids(10, 6)) expect(await store.post(create(id).body)).toMatchObject({ status: 200 });
      expect(store.statistics.inFlight).toBe(1);
      await other.query('COMMIT');
      expect((await Promise.all(together)).map(errorOf)).toEqual([40901, ...Array<undefined>(6)]);
    } finally {
      await other.end();
    }
  });

  it('should be refused with 50301 from WRITE_QUEUE_LIMIT on, and the others be created', async () => {
    const creates = ids(1, QUEUE_LIMIT + 2).map((id) => create(id));
    const responses = await createTogether(store, STATEMENTS, creates);
    expect(responses.map(errorOf)).toEqual([...Array<undefined>(QUEUE_LIMIT), 50301, 50301]);
    expect(await stored()).toHaveLength(QUEUE_LIMIT);
  });
});

it.each([
  ['off', 'on'],
  ['remote_apply', 'remote_apply'],
])('a create should wait for the disk, though synchronous_commit is %s', async (setting, expected) => {
  const database = await createTestDatabase();
  await database.query(`
    CREATE TABLE told (setting text);
    CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.told SELECT current_setting('synchronous_commit'); RETURN NEW; END $$;
    CREATE TRIGGER tell BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION tell()`);
  await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET synchronous_commit = ${setting}`);
  // The longest time limit, of which no timer may make a short one.
  const store = await startStoreOn(database, { STORAGE_TIMEOUT: '86400000' });
  expect(await store.post(create(1).body)).toMatchObject({ status: 200 });
  expect(await database.query('SELECT setting FROM told')).toEqual([{ setting: expected }]);
  await store.stop();
  await database.drop();
});

/** What the simulation cannot show: what PostgreSQL and its connections really do. */
describe('With one connection,', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    const limits = { DATABASE_POOL_SIZE: '1', STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) };
    store = await startProxiedStore({ ...limits, ERROR_STATUS: 'semantic' });
    // The tag says what becomes of a plant: it is rejected with this SQLSTATE, or omitted.
    await store.database.query(`
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag = 'omitted' THEN RETURN NULL; END IF;
        IF NEW.tag IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = NEW.tag, MESSAGE = 'a detail for the log'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION reject()`);
  });
  afterEach(async () => {
    store.proxy.restore();
    await store.database.query('TRUNCATE plants');
  });
  afterAll(() => store.stop());

  const storedIds = async (): Promise<number[]> => {
    const rows = await store.database.query<{ id: number }>('SELECT id::int FROM plants ORDER BY id');
    return rows.map(({ id }) => id);
  };

  async function inTime<T>(work: Promise<T>): Promise<T> {
    using stopwatch = new Stopwatch();
    const result = await work;
    expect(stopwatch.elapsed).toBeLessThan(1.6 * STORAGE_TIMEOUT);
    return result;
  }

  it.each([
    ['omitted', 50000],
    ['40001', 50300],
  ])('a create that PostgreSQL rejects should fail alone if it is %s: with %d', async (tag, error) => {
    const creates = ids(1, 12).map((id) => create(id));
    const neighbours = await createTogether(store, 1, creates.toSpliced(6, 0, create(100, tag)));
    const [culprit] = neighbours.splice(6, 1);
    expect(expectRefusal(culprit, error, 'semantic')).not.toMatch(/a detail|SQL|INSERT|plants"/);
    expect(culprit?.headers['retry-after']).toBe(error === 50300 ? '1' : undefined);
    for (const response of neighbours) expect(response).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await storedIds()).toEqual(ids(1, 12));
  });

  it('a lost answer should be noticed by no client: the plant is stored once, for one of several', async () => {
    const { created } = store.statistics;
    const creates = [create(1), create(1), ...[1, 2].map(() => ({ ...create(2), headers: KEY }))];
    const createAndLose = async (text: string): Promise<unknown[]> => {
      // A session that knows the statement is sent its name alone.
      store.proxy.reset();
      store.proxy.restore();
      const responses = await createTogether(store, 1, creates, () => {
        store.proxy.loseAnswerTo(text);
      });
      expect(store.proxy.hasLostAnswer).toBe(true);
      return responses.map(({ status }) => status);
    };
    // The first name that the statement has.
    expect(await createAndLose('Rose')).toEqual([200, 409, 200, 200]);
    expect(store.statistics.created).toBe(created + 3);
    // The answer to the look-up, too.
    expect(await createAndLose('ANY(')).toEqual([409, 409, 200, 200]);
    expect(await storedIds()).toEqual([1, 2]);
    expect(await store.database.query('SELECT FROM plants WHERE write_id IS NULL')).toEqual([]);
  });

  it('broken connections should be 50400 to a create that was sent before, and 50300 to those after', async () => {
    await using lock = await TableLock.take(store.database);
    const sent = inTime(store.create(1));
    await lock.awaited();
    const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    store.proxy.reset();
    store.expectNothingWritten(await store.create(2));
    expectRefusal(await sent, 50400, 'semantic');
    // What the network said is the cause of the cause.
    const reasons = log.mock.calls.map(([, , reason]: unknown[]) => reason);
    log.mockRestore();
    expect(reasons).toContainEqual(
      expect.stringMatching(/no database connection could be made[^]*^caused by Error: \w/m),
    );
  });

  it('a silent connection should be 50400, and 50301 to those that wait for it; a repetition succeeds', async () => {
    await store.create(1);
    store.proxy.freeze();
    const sent = inTime(store.create(2, KEY));
    await until(() => store.statistics.inFlight === 1);
    const waiting = inTime(store.create(3));
    expectRefusal(await sent, 50400, 'semantic');
    store.expectNothingWritten(await waiting, 50301);
    store.proxy.restore();
    expect(await store.create(2, KEY)).toMatchObject({ status: 200 });
    expect(await storedIds()).toEqual([1, 2]);
  });
});
