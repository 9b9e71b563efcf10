import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PostgresServer } from '../support/database/postgres-server.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { until } from '../support/until.js';

const WAITS = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

describe('A synchronous standby that is away', () => {
  let server: PostgresServer;
  let store: Store;

  beforeAll(async () => {
    server = await PostgresServer.createMigrated();
  });
  afterAll(() => server.remove());

  beforeEach(async () => {
    await server.query('TRUNCATE plants');
    store = await startStoreOn({ url: server.url() } as Store['database'], {
      STORAGE_TIMEOUT: '3000',
      ERROR_STATUS: 'semantic',
    });
    await wantStandby('nobody');
  });
  afterEach(async () => {
    // Ends the wait of every commit.
    await wantStandby('');
    await store.stop();
  });

  async function wantStandby(name: string): Promise<void> {
    await server.set('synchronous_standby_names', name);
    const isSo = `SELECT WHERE current_setting('synchronous_standby_names') = '${name}'`;
    await until(async () => (await server.query(isSo)).length === 1);
  }

  const awaited = (statement: string): Promise<void> =>
    until(async () => (await server.query(`SELECT ${WAITS} AND query LIKE '%${statement}%'`)).length === 1);
  const cancelWait = (): Promise<unknown> => server.query(`SELECT pg_cancel_backend(pid) ${WAITS}`);
  const stored = (): Promise<unknown> => server.query('SELECT name FROM plants');
  const create = (headers = {}): Promise<RawResponse> => store.post('{"id":1,"name":"Rose"}', headers);

  it('should keep a plant from its 200, though the wait for the standby is cancelled', async () => {
    const answer = create();
    await awaited('INSERT');
    expect(await stored()).toEqual([]);
    await cancelWait();
    await awaited('pg_logical_emit_message');
    expect(await stored()).toEqual([{ name: 'Rose' }]);
    expect(expectRefusal(await answer, 50400, 'semantic')).toMatch('unknown');
  });

  it('should keep it no longer when the wait of a later commit ends', async () => {
    const answer = create();
    for (const statement of ['INSERT', 'pg_logical_emit_message']) {
      await awaited(statement);
      await cancelWait();
    }
    await awaited('pg_logical_emit_message');
    await wantStandby('');
    expect(await answer).toMatchObject({ status: 200 });
    expect(await stored()).toEqual([{ name: 'Rose' }]);
    expect(store.statistics.created).toBe(1);
  });

  it('should keep a repetition and a taken id from their answers if the first plant may not be on the standby', async () => {
    await server.query(`SET synchronous_commit TO local; INSERT INTO plants VALUES (1, 'Rose', NULL, 'key')`);
    const answers = [create({ 'Idempotency-Key': 'key' }), create()];
    for (const answer of answers) expect(expectRefusal(await answer, 50400, 'semantic')).toMatch('unknown');
    const later = create({ 'Idempotency-Key': 'key' });
    await awaited('pg_logical_emit_message');
    await wantStandby('');
    expect(await later).toMatchObject({ status: 200 });
  });
});
