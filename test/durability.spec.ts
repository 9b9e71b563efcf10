import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PlantStoreProcess } from './support/process.js';
import { RawConnection } from './support/raw-connection.js';
import { postHead } from './support/request.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

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

  const setDefault = (setting: string): Promise<unknown> =>
    database.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${setting}', current_database()); END $$`);

  it('should be on the disk, though the default of the database is not to wait for it', async () => {
    await setDefault('synchronous_commit TO off');
    await database.query(`
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.name := current_setting('synchronous_commit');
        RETURN NEW;
      END $$;
      CREATE TRIGGER tell BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION tell()`);
    await using service = await PlantStoreProcess.serve(database.url);
    const responses = await Promise.all([1, 2, 3].map((id) => service.post(`{"id":${id},"name":"Rose"}`)));

    expect(responses.map((response) => response?.status)).toEqual([200, 200, 200]);
    expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'off' }]);
    expect(await database.query('SELECT DISTINCT name FROM plants')).toEqual([{ name: 'on' }]);
  });

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
