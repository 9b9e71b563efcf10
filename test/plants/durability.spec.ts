import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createTogether, postHead } from '../support/http/request.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { startStoreOn } from '../support/service/store.js';
import { until } from '../support/until.js';

describe('What is answered with 200', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('should be on the disk, though synchronous_commit of the session is %s', async (setting, expected) => {
    // Each plant is stored with the setting of its own insert.
    await database.query(`
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.tag := current_setting('synchronous_commit');
        RETURN NEW;
      END $$;
      CREATE TRIGGER tell BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION tell();
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit TO ${setting}', current_database()); END $$`);
    const store = await startStoreOn(database);
    const alone = await store.post('{"id":1,"name":"Rose"}');
    const together = await createTogether(
      store.port,
      [2, 3, 4].map((id) => ({ body: `{"id":${id},"name":"Rose"}` })),
    );
    await store.stop();

    expect([alone, ...together].map((response) => response?.status)).toEqual([200, 200, 200, 200]);
    expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: setting }]);
    expect(await database.query('SELECT DISTINCT tag FROM plants')).toEqual([{ tag: expected }]);
  });

  it('should be committed before a byte of the answer is sent', async () => {
    const count = 8;
    // A deferred trigger runs in the middle of the commit.
    await database.query(`
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(1);
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait()`);
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(1)');
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    // The longest time limit, of which no timer may make a short one.
    const store = await startStoreOn(database, { STORAGE_TIMEOUT: '86400000' });
    const creates = Array.from({ length: count }, (_, id) => {
      const body = `{"id":${id},"name":"Rose"}`;
      return postHead('', body, { 'Idempotency-Key': 'key' }) + body;
    }).join('');
    const connections = [await RawConnection.open(store.port), await RawConnection.open(store.port)];
    try {
      // The second ones are repetitions: they wait for the first ones.
      for (const [index, connection] of connections.entries()) {
        connection.send(creates);
        await until(async () => (await holder.query(waiting)).rowCount === index + 1);
        // The service has done its work before the commit once it has answered later requests.
        for (const later of ['{}', '{}', '{}']) expect(await store.post(later)).toMatchObject({ status: 400 });
        expect(connections.map(({ socket }) => socket.bytesRead)).toEqual([0, 0]);
        expect(await database.query('SELECT FROM plants')).toEqual([]);
      }
      await holder.query('SELECT pg_advisory_unlock(1)');
      for (const connection of connections)
        for (let answer = 0; answer < count; answer++)
          expect(await connection.response()).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
      expect(await database.query('SELECT FROM plants')).toHaveLength(count);
    } finally {
      // Ends the wait, if the test has failed.
      await holder.end();
      for (const connection of connections) connection.close();
      await store.stop();
    }
  });
});
