import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { TableLock } from '../support/database/test-database.js';
import { createTogether, type RawResponse, type TogetherCreate } from '../support/http/request.js';
import { type ProxiedStore, startProxiedStore } from '../support/service/store.js';
import { Stopwatch, until } from '../support/until.js';

/** Long enough for a busy machine to create a plant. */
const STORAGE_TIMEOUT = 3000;
const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const KEY = { 'Idempotency-Key': 'the first try' };
const NEIGHBOURS = [1, 2, 3, 4, 5, 6];
const CULPRIT = 100;

const create = (id: number, tag?: string): TogetherCreate => ({ body: JSON.stringify({ id, name: 'Rose', tag }) });

/** What the simulation of the writer cannot show: what PostgreSQL and its connections really do. */
describe('With one connection,', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    store = await startProxiedStore({
      DATABASE_POOL_SIZE: '1',
      STORAGE_TIMEOUT: String(STORAGE_TIMEOUT),
      ERROR_STATUS: 'semantic',
    });
    // The tag says what becomes of a plant: it is rejected with this SQLSTATE, or left out.
    await store.database.query(`
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag = 'left out' THEN RETURN NULL; END IF;
        IF NEW.tag IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = NEW.tag, MESSAGE = 'a detail for the log'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION reject()`);
    // The first look-up loads Prisma's client, for which a busy machine takes long.
    for (const id of [0, 0]) await store.create(id);
    await store.database.query('TRUNCATE plants');
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    store.proxy.restore();
    await store.database.query('TRUNCATE plants');
  });
  afterAll(() => store.stop());

  /** Creates of one statement, the one in the middle with this tag. */
  const together = async (tag: string): Promise<[RawResponse | undefined, (RawResponse | undefined)[]]> => {
    const [before, after] = [NEIGHBOURS.map((id) => create(id)), NEIGHBOURS.map((id) => create(-id))];
    const responses = await createTogether(store.port, [...before, create(CULPRIT, tag), ...after]);
    const [culprit] = responses.splice(NEIGHBOURS.length, 1);
    return [culprit, responses];
  };
  async function inTime<T>(work: Promise<T>): Promise<T> {
    using stopwatch = new Stopwatch();
    const result = await work;
    expect(stopwatch.elapsed).toBeLessThan(1.6 * STORAGE_TIMEOUT);
    return result;
  }

  // First, as a connection that was broken may leave a session behind.
  it.each([
    ['left out', 50000],
    ['40001', 50300],
  ])('a create that PostgreSQL rejects should fail alone if it is %s: with %d', async (tag, error) => {
    const sessions = (): Promise<object[]> =>
      store.database.query(
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store' AND datname = current_database()`,
      );
    await store.expectCreated(0);
    const before = await sessions();
    const [culprit, neighbours] = await together(tag);
    expect(store.expectRefused(culprit, error)).not.toMatch(/a detail|SQL|INSERT|plants"/);
    expect(culprit?.headers['retry-after']).toBe(error === 50300 ? '1' : undefined);
    for (const response of neighbours) expect(response).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await store.storedIds()).toHaveLength(1 + neighbours.length);
    expect([store.statistics.inFlight, store.waiting()]).toEqual([0, 0]);
    expect(before).toHaveLength(1);
    expect(await sessions()).toEqual(before);
  });

  it('a full disk should fail all creates of a statement with 50300', async () => {
    const [culprit, neighbours] = await together('53100');
    for (const response of [culprit, ...neighbours]) store.expectNothingWritten(response);
    expect(await store.storedIds()).toEqual([]);
  });

  it('a pooler that has lost the server should leave one outcome unknown, and take no others along', async () => {
    const culprit = store.send({ id: CULPRIT, name: 'Rose', tag: '08006' });
    const others = (async () => {
      for (let id = 1000; id < 1050; id += 10) {
        const creates = NEIGHBOURS.map((near) => create(id + near));
        for (const response of await createTogether(store.port, creates)) expect(response?.status).toBe(200);
      }
    })();
    const first = await Promise.race([others.then(() => 'the others'), culprit.then(() => 'the culprit')]);
    store.expectUnknown(await culprit);
    expect(first).toBe('the others');
  });

  it('a failure should have its cause in the log alone, under the request id of the answer, without the plant', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const response = await store.send({ id: 1, name: "nobody else's business", tag: 'XX000' });
    const fields = { error: 50000, requestId: response.headers['x-request-id'], token: 'static', plantId: '1' };
    const stack = expect.stringContaining('a detail for the log');
    expect(error.mock.calls).toEqual([[expect.any(String), fields, stack]]);
    expect(JSON.stringify(error.mock.calls)).not.toMatch('business');
  });

  it('no connection should be 50300 to each of many, and pass', async () => {
    store.proxy.reset();
    const creates = [1, 2, 3, 4].map((id) => create(id));
    for (const response of await createTogether(store.port, creates)) store.expectNothingWritten(response);
    store.proxy.restore();
    expect(await store.storedIds()).toEqual([]);
    for (const response of await createTogether(store.port, creates)) expect(response).toMatchObject({ status: 200 });
  });

  it('a lost answer should be noticed by no client: the plant is stored once, for one of several', async () => {
    const { created } = store.statistics;
    const creates = [create(1), create(1), ...[1, 2].map(() => ({ ...create(2), headers: KEY }))];
    const loseAnswerTo = (text: string): void => {
      // A session that knows the statement is sent its name alone.
      store.proxy.reset();
      store.proxy.restore();
      store.proxy.loseAnswerTo(text);
    };
    loseAnswerTo('INSERT');
    const first = await createTogether(store.port, creates);
    expect(first.map((response) => response?.status)).toEqual([200, 409, 200, 200]);
    expect(store.proxy.hasLostAnswer).toBe(true);
    expect(store.statistics.created).toBe(created + 2);

    // That of the look-up, too.
    loseAnswerTo('ANY(');
    const again = await createTogether(store.port, creates);
    expect(store.proxy.hasLostAnswer).toBe(true);
    expect(again.map((response) => response?.status)).toEqual([409, 409, 200, 200]);
    expect(await store.storedIds()).toEqual([1, 2]);
    expect(await store.database.query('SELECT FROM plants WHERE write_id IS NULL')).toEqual([]);
  });

  it.each([
    ['40901 if another transaction has the id after all', 'COMMIT', 'Lily'],
    ['200 if the plant is its own', 'ROLLBACK', 'Rose'],
  ])('a connection that breaks under a statement, and comes back, should make %s', async (_, end, name) => {
    const other = new pg.Client(store.database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (1, 'Lily')`);
      const answer = store.create(1);
      await until(async () => (await other.query(WAITING)).rowCount === 1);
      // The session does not know that its client is gone.
      store.proxy.reset();
      await other.query(end);
      store.proxy.restore();
      if (end === 'COMMIT') store.expectRefused(await answer, 40901);
      else expect(await answer).toMatchObject({ status: 200 });
    } finally {
      await other.end();
    }
    expect(await store.database.query('SELECT name FROM plants')).toEqual([{ name }]);
  });

  it('a wait for a lock should be 50400 in time, and end on the server', async () => {
    await using lock = await TableLock.take(store.database);
    store.expectUnknown(await inTime(store.create(1)));
    await lock.awaited(0);
    await lock.release();
    await store.expectCreated(2);
    expect(await store.storedIds()).toEqual([2]);
  });

  it('broken connections should be 50400 to a create that was sent before, and 50300 to those after', async () => {
    await using lock = await TableLock.take(store.database);
    const sent = inTime(store.create(1));
    await lock.awaited();
    store.proxy.reset();
    store.expectNothingWritten(await store.create(2));
    store.expectUnknown(await sent);
  });

  it('a silent connection should be 50400, and 50301 to those that wait for it; a repetition succeeds', async () => {
    await store.expectCreated(1);
    store.proxy.freeze();
    const sent = inTime(store.create(2, KEY));
    await until(() => store.statistics.inFlight === 1);
    const waiting = inTime(store.create(3));
    store.expectUnknown(await sent);
    store.expectNothingWritten(await waiting, 50301);
    store.proxy.restore();
    await store.expectCreated(2, KEY);
    expect(await store.storedIds()).toEqual([1, 2]);
  });
});
