import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ProxiedStore } from './support/proxied-store.js';
import { TableLock } from './support/table-lock.js';

describe.each(['contract', 'semantic'])('Broken storage (ERROR_STATUS=%s)', (errorStatus) => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1', ERROR_STATUS: errorStatus });
  });
  afterEach(() => store.stop());

  it('should answer 50300 where no server runs', async () => {
    await store.proxy.close();
    store.expectNothingWritten(await store.create(1));
    expect(await store.storedIds()).toEqual([]);
  });

  it('should answer 50300, and not overload, to each of many where no server runs', async () => {
    await store.proxy.close();
    const responses = await Promise.all([1, 2, 3, 4].map((id) => store.create(id)));
    for (const response of responses) store.expectNothingWritten(response);
  });

  it('should answer 50300 where every connection is reset, and recover', async () => {
    store.proxy.reset();
    store.expectNothingWritten(await store.create(1));
    store.proxy.restore();
    await store.expectCreated(2);
    expect(await store.storedIds()).toEqual([2]);
  });

  it('should answer 50300 where the database accepts no writes', async () => {
    const sql = `'ALTER DATABASE %I SET default_transaction_read_only TO on', current_database()`;
    await store.database.query(`DO $$ BEGIN EXECUTE format(${sql}); END $$`);
    store.expectNothingWritten(await store.create(1));
    expect(await store.storedIds()).toEqual([]);
  });

  it('should answer 50300 where a taken id cannot be looked up, for its own write was refused', async () => {
    const key = { 'Idempotency-Key': 'one' };
    await store.expectCreated(1, key);
    store.proxy.loseAnswerTo('SELECT');
    store.expectNothingWritten(await store.create(1, key));
  });

  it('should answer 50400 where the session is ended under a statement', async () => {
    await using lock = await TableLock.take(store.database);
    const answer = store.create(1);
    await lock.awaited();
    await lock.terminateWaiting();
    store.expectUnknown(await answer);
    await lock.release();
    await store.expectCreated(2);
  });

  it('should answer 50400 where the connection breaks under a statement', async () => {
    await using lock = await TableLock.take(store.database);
    const answer = store.create(1);
    await lock.awaited();
    store.proxy.reset();
    store.expectUnknown(await answer);
    await lock.release();
    store.proxy.restore();
    await store.expectCreated(2);
  });

  it('should answer 50400 where the answer to a statement is lost, and then 200 to the same Idempotency-Key', async () => {
    const key = { 'Idempotency-Key': 'the first try' };
    store.proxy.loseAnswerTo('INSERT');
    store.expectUnknown(await store.create(1, key));
    expect(await store.storedIds()).toEqual([1]);

    await store.expectCreated(1, key);
    await store.expectCreated(1, key);
    store.expectRefused(await store.create(1), 40901);
    expect(await store.storedIds()).toEqual([1]);
  });

  it('should answer 200 to the first request after the server closed the idle connections', async () => {
    await store.expectCreated(1);
    await store.endSessions();
    await store.expectCreated(2);
  });
});
