import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { createTestDatabase, TableLock } from '../support/database/test-database.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ProxiedStore, startStoreOn } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

// Long enough for a busy machine to create a plant.
const STORAGE_TIMEOUT = 1500;
const SLACK = 3 * STORAGE_TIMEOUT;

describe('Silent storage', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({
      STORAGE_TIMEOUT: String(STORAGE_TIMEOUT),
      DATABASE_POOL_SIZE: '1',
      ERROR_STATUS: 'semantic',
    });
  });
  afterEach(() => store.stop());

  async function expectTimeout<T>(work: Promise<T>): Promise<T> {
    const before = performance.now();
    const result = await work;
    const elapsed = performance.now() - before;
    // Timers may fire within the millisecond before.
    expect(elapsed).toBeGreaterThanOrEqual(STORAGE_TIMEOUT - 1);
    expect(elapsed).toBeLessThan(STORAGE_TIMEOUT + SLACK);
    return result;
  }

  it('should answer 50300 if connections are accepted and never answered, and recover', async () => {
    // Ends the connection of the start.
    store.proxy.reset();
    store.expectNothingWritten(await store.create(1));
    store.proxy.restore();
    store.proxy.freeze();
    store.expectNothingWritten(await expectTimeout(store.create(1)));
    store.proxy.restore();
    await store.expectCreated(2);
    expect(await store.storedIds()).toEqual([2]);
  });

  it('should answer 50400 if a statement waits too long for a lock, and recover', async () => {
    await store.expectCreated(1);
    await using lock = await TableLock.take(store.database);
    store.expectUnknown(await expectTimeout(store.create(2)));
    await lock.release();
    await store.expectCreated(3);
    expect(await store.storedIds()).toEqual([1, 3]);
  });

  it('should answer 50400 if a connection that worked falls silent, and recover', async () => {
    const key = { 'Idempotency-Key': 'two' };
    await store.expectCreated(1);
    store.proxy.freeze();
    store.expectUnknown(await expectTimeout(store.create(2, key)));
    store.proxy.restore();
    await store.expectCreated(2, key);
    expect(await store.storedIds()).toEqual([1, 2]);
  });

  it('should answer 50301 to creates that get no connection, and recover', async () => {
    await store.expectCreated(1);
    store.proxy.freeze();
    using connection = await RawConnection.open(store.port);
    const plant = (id: number): string => JSON.stringify({ id, name: 'Rose' });
    const send = (id: number): void => {
      connection.send(postHead('', plant(id)), plant(id));
    };
    send(2);
    await until(() => store.statistics.inFlight === 1);
    send(3);
    store.expectUnknown(await expectTimeout(connection.response()));
    store.expectNothingWritten(await connection.response(), 50301);
    store.proxy.restore();
    await store.expectCreated(5);
    expect((await store.storedIds()).filter((id) => id !== 2)).toEqual([1, 5]);
  });

  it('should count the wait for a connection and the statement as one STORAGE_TIMEOUT, and recover', async () => {
    const timed = async (id: number): Promise<{ id: number; error: number; elapsed: number }> => {
      using stopwatch = new Stopwatch();
      const { body } = await store.create(id);
      const { error } = JSON.parse(body) as { error: number };
      return { id, error, elapsed: stopwatch.elapsed };
    };
    await store.expectCreated(1);
    await using lock = await TableLock.take(store.database);
    const pending = [timed(2)];
    await lock.awaited();
    for (const id of [3, 4, 5, 6]) {
      pending.push(timed(id));
      await setTimeout(STORAGE_TIMEOUT / 4);
    }
    const answers = await Promise.all(pending);
    for (const { error, elapsed } of answers) {
      expect([50301, 50400]).toContain(error);
      expect(elapsed).toBeLessThan(1.6 * STORAGE_TIMEOUT);
    }
    await lock.release();
    await store.expectCreated(7);
    const stored = await store.storedIds();
    for (const { id } of answers.filter(({ error }) => error === 50301)) expect(stored).not.toContain(id);
  });
});

describe('A store behind a pooler, as the URL says', () => {
  it('should send no statement_timeout, and keep the time limit all the same', async () => {
    const database = await createTestDatabase();
    const store = await startStoreOn(
      { ...database, url: `${database.url}${database.url.includes('?') ? '&' : '?'}pgbouncer=true` },
      { STORAGE_TIMEOUT: String(STORAGE_TIMEOUT), DATABASE_POOL_SIZE: '2' },
    );
    const post = (id: number): Promise<RawResponse> => store.post(JSON.stringify({ id, name: 'Rose' }));
    try {
      const before = performance.now();
      const lock = await TableLock.take(database);
      const answer = post(1);
      await lock.awaited();
      expect((await answer).body).toMatch('50400');
      expect(performance.now() - before).toBeLessThan(STORAGE_TIMEOUT + SLACK);
      // It is cancelled on the server.
      await lock.awaited(0);
      await lock.release();
      await until(async () => (await post(2)).status === 200);
      expect(await database.query('SELECT id FROM plants ORDER BY id')).toEqual([{ id: '2' }]);
    } finally {
      await store.stop();
      await database.drop();
    }
  });
});

describe('The longest STORAGE_TIMEOUT', () => {
  it('should leave a plant the time to be created', async () => {
    const store = await ProxiedStore.start({ STORAGE_TIMEOUT: '86400000' });
    try {
      await store.expectCreated(1);
    } finally {
      await store.stop();
    }
  });
});
