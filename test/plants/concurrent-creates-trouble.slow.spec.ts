import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TableLock, type TestDatabase } from '../support/database/test-database.js';
import { createTogether, type TogetherCreate } from '../support/http/request.js';
import { ProxiedStore } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const STORAGE_TIMEOUT = 4000;
const NEIGHBOURS = [1, 2, 3, 4, 5, 6, 7, 8];

const create = (id: number, tag?: string, key?: string): TogetherCreate => ({
  body: JSON.stringify({ id, name: 'Rose', tag }),
  ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
});

/** How many sessions of a database wait for a lock. */
async function lockWaits(database: TestDatabase): Promise<number> {
  const waits = await database.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return waits.length;
}

describe('Creates that come together, in trouble', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT), ERROR_STATUS: 'semantic' });
    // A plant with a tag is rejected with the tag as its SQLSTATE.
    await store.database.query(`
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = NEW.tag; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION reject()`);
  });
  afterEach(() => store.stop());

  it.each([
    [50000, '23514'],
    [50000, 'XX000'],
    [50300, '40P01'],
    [50300, '55P03'],
  ])(
    'should answer %d to the one that is rejected with the SQLSTATE %s, and create its neighbours',
    async (error, state) => {
      const responses = await createTogether(store.port, [
        ...NEIGHBOURS.map((id) => create(id)),
        create(100, state),
        ...NEIGHBOURS.map((id) => create(-id, undefined, 'key')),
      ]);
      const [culprit] = responses.splice(NEIGHBOURS.length, 1);
      store.expectRefused(culprit, error);
      for (const response of responses) expect(response).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
      const stored = [...NEIGHBOURS.map((id) => -id).reverse(), ...NEIGHBOURS];
      expect(await store.storedIds()).toEqual(stored);
      expect(store.statistics).toMatchObject({ created: stored.length, inFlight: 0 });
      expect(store.waiting()).toBe(0);
    },
  );

  it('should answer 50300 to all at once if the database lacks resources', async () => {
    const responses = await createTogether(store.port, [...NEIGHBOURS.map((id) => create(id)), create(100, '53100')]);
    for (const response of responses.slice(1)) store.expectNothingWritten(response);
  });

  it('should create the neighbours of one whose id another transaction holds', async () => {
    const other = new pg.Client(store.database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (100, 'Lily')`);
      const together = createTogether(
        store.port,
        [100, ...NEIGHBOURS].map((id) => create(id)),
      );
      await until(async () => (await store.storedIds()).length === NEIGHBOURS.length);
      const [culprit, ...neighbours] = await together;
      for (const response of neighbours) expect(response).toMatchObject({ status: 200 });
      store.expectUnknown(culprit);
      // Its statement had its time only once it was alone; until that is up, it would yet be stored when the id is free.
      await until(async () => (await lockWaits(store.database)) === 0);
    } finally {
      await other.end();
    }
    expect(await store.storedIds()).toEqual(NEIGHBOURS);
  });

  it('should not hold up others behind a lone one that waits for a lock', async () => {
    const other = new pg.Client(store.database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (100, 'Lily')`);
      const waiting = store.create(100);
      await until(() => store.statistics.inFlight === 1);
      for (const id of NEIGHBOURS) await store.expectCreated(id);
      expect(store.statistics.inFlight).toBe(1);
      await other.query('COMMIT');
      store.expectRefused(await waiting, 40901);
    } finally {
      await other.end();
    }
  });

  it('should answer 200 to all of a statement whose answer is lost, with a key and without, and store each once', async () => {
    const creates = NEIGHBOURS.map((id) => create(id, undefined, id % 2 === 0 ? `key ${id}` : undefined));
    store.proxy.loseAnswerTo('INSERT');
    for (const response of await createTogether(store.port, creates)) expect(response).toMatchObject({ status: 200 });
    expect(await store.storedIds()).toEqual(NEIGHBOURS);
    expect(store.statistics.created).toBe(NEIGHBOURS.length);

    for (const [index, response] of (await createTogether(store.port, creates)).entries()) {
      if (index % 2 === 0) store.expectRefused(response, 40901);
      else expect(response).toMatchObject({ status: 200 });
    }
    expect(await store.storedIds()).toEqual(NEIGHBOURS);
  });

  it('should answer 200 to one only of several with one id, if the answer is lost', async () => {
    const creates = [1, 1, 2, 1].map((id) => create(id));
    store.proxy.loseAnswerTo('INSERT');
    const [first, second, neighbour, third] = await createTogether(store.port, creates);
    for (const response of [first, neighbour]) expect(response).toMatchObject({ status: 200 });
    for (const response of [second, third]) store.expectRefused(response, 40901);
    expect(await store.storedIds()).toEqual([1, 2]);
  });

  it('should answer 50300 to all if no connection can be made, and recover', async () => {
    store.proxy.reset();
    const creates = NEIGHBOURS.map((id) => create(id));
    for (const response of await createTogether(store.port, creates)) store.expectNothingWritten(response);
    store.proxy.restore();
    for (const response of await createTogether(store.port, creates)) expect(response).toMatchObject({ status: 200 });
  });

  it('should answer 50400 in time if a statement with many takes too long, and recover', async () => {
    await using lock = await TableLock.take(store.database);
    using stopwatch = new Stopwatch();
    const responses = await createTogether(
      store.port,
      NEIGHBOURS.map((id) => create(id)),
    );
    expect(stopwatch.elapsed).toBeLessThan(1.6 * STORAGE_TIMEOUT);
    for (const response of responses) store.expectUnknown(response);
    await lock.release();
    await store.expectCreated(100);
  });

  it('should answer 200 though the first look-up of those that hold the ids is lost', async () => {
    const creates = NEIGHBOURS.map((id) => create(id, undefined, 'key'));
    await createTogether(store.port, creates);
    store.proxy.loseAnswerTo('ANY(');
    for (const response of await createTogether(store.port, creates)) expect(response).toMatchObject({ status: 200 });
  });
});

describe('More creates than WRITE_QUEUE_LIMIT', () => {
  it('should be answered 50301 while the database is busy, and the others be created', async () => {
    const store = await ProxiedStore.start({
      WRITE_QUEUE_LIMIT: '3',
      ERROR_STATUS: 'semantic',
      // Longer than the lock is held on a slow machine.
      STORAGE_TIMEOUT: '30000',
    });
    try {
      const lock = await TableLock.take(store.database);
      // As many statements as go at a time, however long each of them takes.
      const first = [];
      for (let id = 1; id <= 4; id++) {
        first.push(store.create(id));
        await lock.awaited(id);
      }
      const together = createTogether(
        store.port,
        [11, 12, 13, 14, 15].map((id) => create(id)),
      );
      await until(() => store.waiting() === 3);
      await lock.release();

      const responses = await together;
      for (const response of [...(await Promise.all(first)), ...responses.slice(0, 3)]) {
        expect(response).toMatchObject({ status: 200 });
      }
      for (const response of responses.slice(3)) store.expectNothingWritten(response, 50301);
      expect(await store.storedIds()).toEqual([1, 2, 3, 4, 11, 12, 13]);
    } finally {
      await store.stop();
    }
  });
});
