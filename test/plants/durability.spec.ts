import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { startStoreOn } from '../support/service/store.js';
import { until } from '../support/until.js';

const CLIENTS = 8;
const ENOUGH = 200;

interface Row {
  id: string;
  name: string;
  tag: string | null;
}

describe('What was answered with 200', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  /** Each plant is stored with the setting of its own insert in place of this column. */
  const storeSettingAs = (column: string): Promise<unknown> =>
    database.query(`
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.${column} := current_setting('synchronous_commit');
        RETURN NEW;
      END $$;
      CREATE TRIGGER tell BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION tell()`);

  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('should be on the disk, though the default of the database is %s', async (setting, expected) => {
    await database.query(`
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit TO ${setting}', current_database()); END $$`);
    await storeSettingAs('name');
    const store = await startStoreOn(database);
    const responses = await Promise.all([1, 2, 3].map((id) => store.post(`{"id":${id},"name":"Rose"}`)));
    await store.stop();

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: setting }]);
    expect(await database.query('SELECT DISTINCT name FROM plants')).toEqual([{ name: expected }]);
  });

  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('should be on the disk, though sessions that others set up have %s', async (session, expected) => {
    await storeSettingAs('tag');
    const options = `-c synchronous_commit=${session}`;
    const pool = new pg.Pool({ connectionString: database.url, options, max: 2 });
    const guest = await Guest.start({ pool });
    await guest.expectCreated(0);
    await Promise.all([1, 2, 3, 4, 5].map((id) => guest.expectCreated(id)));
    await guest.stop();
    expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: session }]);
    await endPool(pool);
    expect(await database.query('SELECT DISTINCT tag FROM plants')).toEqual([{ tag: expected }]);
  });

  it.each([1, 2, 8])(
    'should be committed before a byte of the answer is sent, with %d in a statement',
    async (count) => {
      // A deferred trigger runs in the middle of the commit, from any session.
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
      const waiting = async (): Promise<number> =>
        (
          await holder.query(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
          )
        ).rowCount ?? 0;
      // No time limit may end the wait.
      const store = await startStoreOn(database, { STORAGE_TIMEOUT: '600000' });
      const creates = Array.from({ length: count }, (_, id) => {
        const body = `{"id":${id},"name":"Rose"}`;
        return postHead('', body, { 'Idempotency-Key': 'key' }) + body;
      }).join('');
      const connections = [await RawConnection.open(store.port), await RawConnection.open(store.port)];
      try {
        // The second ones are repetitions: they wait for the first ones.
        for (const [index, connection] of connections.entries()) {
          connection.send(creates);
          await until(async () => (await waiting()) === index + 1);
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
    },
  );

  it('should be there, exactly as sent, after the service was killed under load', async () => {
    await using service = await PlantStoreProcess.serve(database.url);
    const sent = new Map<string, Row>();
    const acknowledged: string[] = [];

    /** Creates plants one after another until the connection breaks. */
    async function createMany(client: number): Promise<void> {
      using connection = await RawConnection.open(service.port);
      for (let count = 0; ; count++) {
        const row = newRow(BigInt(count * CLIENTS + client));
        sent.set(row.id, row);
        const body = `{"id":${row.id},"name":${JSON.stringify(row.name)}${row.tag === null ? '' : `,"tag":${JSON.stringify(row.tag)}`}}`;
        connection.send(postHead('', body), body);
        const response = await connection.response().catch(() => undefined);
        if (response === undefined) return;
        expect(response.status).toBe(200);
        acknowledged.push(row.id);
        if (acknowledged.length === ENOUGH) service.signal('SIGKILL');
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => createMany(client)));

    expect(await service.ended).toBe('SIGKILL');
    expect(acknowledged.length).toBeGreaterThanOrEqual(ENOUGH);
    const rows = await database.query<Row>('SELECT id, name, tag FROM plants');
    const stored = new Map(rows.map((row) => [row.id, row]));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    for (const [id, row] of stored) expect(row).toEqual(sent.get(id));
  });
});

/** With an id beyond what a float can hold, and text that an encoding or a trim would spoil. */
function newRow(count: bigint): Row {
  const id = String(9007199254740993n + count);
  return { id, name: ` Ros\u00e9 \u{1F339} 'e\u0301' \\ "${id}"\n `, tag: count % 2n === 0n ? null : '' };
}
