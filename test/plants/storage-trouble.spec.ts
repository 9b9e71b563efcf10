import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TableLock } from '../support/database/test-database.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { ProxiedStore } from '../support/service/store.js';
import { until } from '../support/until.js';

describe.each(['contract', 'semantic'])('Broken storage (ERROR_STATUS=%s)', (errorStatus) => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1', ERROR_STATUS: errorStatus });
  });
  afterEach(() => store.stop());

  it('should answer 50300 if no server runs', async () => {
    await store.proxy.close();
    store.expectNothingWritten(await store.create(1));
    expect(await store.storedIds()).toEqual([]);
  });

  it('should answer 50300, and not overload, to each of many if no server runs', async () => {
    await store.proxy.close();
    const responses = await Promise.all([1, 2, 3, 4].map((id) => store.create(id)));
    for (const response of responses) store.expectNothingWritten(response);
  });

  it('should answer 50300 if every connection is reset, and recover', async () => {
    store.proxy.reset();
    store.expectNothingWritten(await store.create(1));
    store.proxy.restore();
    await store.expectCreated(2);
    expect(await store.storedIds()).toEqual([2]);
  });

  it('should answer 50300 if the database accepts no writes', async () => {
    const sql = `'ALTER DATABASE %I SET default_transaction_read_only TO on', current_database()`;
    await store.database.query(`DO $$ BEGIN EXECUTE format(${sql}); END $$`);
    // It counts from the next connection on.
    store.proxy.reset();
    store.proxy.restore();
    store.expectNothingWritten(await store.create(1));
    expect(await store.storedIds()).toEqual([]);
  });

  it('should answer 200 to a repetition though the first look-up of its plant is lost', async () => {
    const key = { 'Idempotency-Key': 'one' };
    await store.expectCreated(1, key);
    store.proxy.loseAnswerTo('SELECT id::text');
    await store.expectCreated(1, key);
  });

  it('should answer 200 if the session is ended under a statement', async () => {
    await using lock = await TableLock.take(store.database);
    const answer = store.create(1);
    await lock.awaited();
    await lock.terminateWaiting();
    await lock.awaited();
    await lock.release();
    expect(await answer).toMatchObject({ status: 200 });
    expect(await store.storedIds()).toEqual([1]);
  });

  it('should answer 200 if the connection breaks under a statement, and comes back', async () => {
    await using lock = await TableLock.take(store.database);
    const answer = store.create(1);
    await lock.awaited();
    store.proxy.reset();
    store.proxy.restore();
    // The first session does not know that its client is gone.
    await lock.awaited(2);
    await lock.release();
    expect(await answer).toMatchObject({ status: 200 });
    expect(await store.storedIds()).toEqual([1]);
  });

  it.each([{}, { 'Idempotency-Key': 'the first try' }])(
    'should answer 200 if the answer to a statement is lost, with the headers %j',
    async (headers) => {
      store.proxy.loseAnswerTo('INSERT');
      await store.expectCreated(1, headers);
      store.expectRefused(await store.create(1), 40901);
      expect(await store.database.query('SELECT count(*)::int AS plants, count(write_id)::int FROM plants')).toEqual([
        { plants: 1, count: 1 },
      ]);
      expect(store.statistics.created).toBe(1);
    },
  );

  it('should answer 200 to the first request after the server closed the idle connections', async () => {
    await store.expectCreated(1);
    await store.endSessions();
    await store.expectCreated(2);
  });
});

describe('A create whose session is ended in the commit', () => {
  let store: ProxiedStore;
  let holder: pg.Client;

  beforeEach(async () => {
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1', ERROR_STATUS: 'semantic' });
    // A deferred trigger runs in the midst of the commit.
    await store.database.query(`
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.created_by IS NOT NULL THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait()`);
    holder = new pg.Client(store.database.url);
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(1)');
  });
  afterEach(async () => {
    await holder.end();
    await store.stop();
  });

  /** Ends the session of a create in the midst of its commit, and does something else before the create is sent again. */
  async function interrupted(headers: Record<string, string>, meanwhile = ''): Promise<RawResponse> {
    const waiting = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
    const answer = store.create(1, headers);
    await until(async () => (await holder.query(`SELECT ${waiting}`)).rowCount === 1);
    // The service cannot send it again yet.
    store.proxy.reset();
    await holder.query(`SELECT pg_terminate_backend(pid, 60000) ${waiting}`);
    await holder.query(meanwhile);
    store.proxy.restore();
    await holder.query('SELECT pg_advisory_unlock(1)');
    return answer;
  }

  it('should be answered with 200, and store the plant once', async () => {
    expect(await interrupted({})).toMatchObject({ status: 200 });
    expect(await store.storedIds()).toEqual([1]);
  });

  it.each([
    [40901, 'another plant', {}, `'Lily', NULL`],
    [40901, 'a plant that is equal', {}, `'Rose', NULL`],
    [40901, 'a plant with another key', { 'Idempotency-Key': 'one' }, `'Rose', 'two'`],
    [40902, 'another plant with this key', { 'Idempotency-Key': 'one' }, `'Lily', 'one'`],
    [200, 'this plant, by a repetition of the request', { 'Idempotency-Key': 'one' }, `'Rose', 'one'`],
  ])(
    'should be answered with %d if an instance of the version before has given the id to %s',
    async (expected, _, headers, row) => {
      const sql = `INSERT INTO plants (id, name, idempotency_key) VALUES (1, ${row}) ON CONFLICT (id) DO NOTHING`;
      const answer = await interrupted(headers, sql);
      if (expected === 200) expect(answer).toMatchObject({ status: 200 });
      else store.expectRefused(answer, expected);
      expect(await store.database.query('SELECT write_id FROM plants')).toEqual([{ write_id: null }]);
      expect(store.statistics.created).toBe(0);
    },
  );
});

describe('Storage that stays away', () => {
  it('should be answered with 50400 if a statement was sent before, and with 50300 if none was', async () => {
    const store = await ProxiedStore.start({ STORAGE_TIMEOUT: '1500', ERROR_STATUS: 'semantic' });
    try {
      await using lock = await TableLock.take(store.database);
      const answer = store.create(1);
      await lock.awaited();
      store.proxy.reset();
      await until(() => store.statistics.inFlight === 0);
      store.expectNothingWritten(await store.create(2));
      store.expectUnknown(await answer);
      store.proxy.restore();
      await lock.release();
      await store.expectCreated(3);
    } finally {
      await store.stop();
    }
  });
});
