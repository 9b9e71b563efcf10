import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ProxiedStore } from './support/proxied-store.js';
import { RawConnection } from './support/raw-connection.js';
import { postHead } from './support/request.js';
import { TableLock } from './support/table-lock.js';

const STORAGE_TIMEOUT = 400;
const SLACK = 10 * STORAGE_TIMEOUT;

describe.each(['contract', 'semantic'])('Silent storage (ERROR_STATUS=%s)', (errorStatus) => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({
      STORAGE_TIMEOUT: String(STORAGE_TIMEOUT),
      DATABASE_POOL_SIZE: '1',
      ERROR_STATUS: errorStatus,
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

  it('should answer 50300 where connections are accepted and never answered, and recover', async () => {
    store.proxy.freeze();
    store.expectNothingWritten(await expectTimeout(store.create(1)));
    store.proxy.restore();
    await store.expectCreated(2);
    expect(await store.storedIds()).toEqual([2]);
  });

  it('should answer 50400 where a statement waits too long for a lock, and recover', async () => {
    await store.expectCreated(1);
    await using lock = await TableLock.take(store.database);
    store.expectUnknown(await expectTimeout(store.create(2)));
    await lock.release();
    await store.expectCreated(3);
    expect(await store.storedIds()).toEqual([1, 3]);
  });

  it('should answer 50400 where a connection that worked falls silent, and recover', async () => {
    const key = { 'Idempotency-Key': 'two' };
    await store.expectCreated(1);
    store.proxy.freeze();
    store.expectUnknown(await expectTimeout(store.create(2, key)));
    store.proxy.restore();
    await store.expectCreated(2, key);
    expect(await store.storedIds()).toEqual([1, 2]);
  });

  it('should answer 50301 to those for whom no connection becomes free, and recover', async () => {
    await store.expectCreated(1);
    store.proxy.freeze();
    using connection = await RawConnection.open(store.port);
    const plant = (id: number): string => JSON.stringify({ id, name: 'Rose' });
    // In one piece, so that all of them wait while the first one has the only connection.
    connection.send([2, 3, 4].map((id) => postHead('', plant(id)) + plant(id)).join(''));
    store.expectUnknown(await expectTimeout(connection.response()));
    store.expectNothingWritten(await connection.response(), 50301);
    store.expectNothingWritten(await connection.response(), 50301);
    store.proxy.restore();
    await store.expectCreated(5);
    expect((await store.storedIds()).filter((id) => id !== 2)).toEqual([1, 5]);
  });
});
