import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Migrator } from '../../src/database/migrator.js';
import { EmbeddedPostgres } from '../../src/service/embedded-postgres/embedded-postgres.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { until } from '../support/until.js';

const STORAGE_TIMEOUT = 3000;

describe('A synchronous standby that is away', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  let admin: pg.Client;
  let store: Store;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-standby-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(directory, 0o755);
    server = await EmbeddedPostgres.start(directory);
    await new Migrator({ url: server.url }).migrate();
    admin = new pg.Client(server.url);
    await admin.connect();
    await admin.query('SET synchronous_commit TO local');
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  beforeEach(async () => {
    await admin.query('TRUNCATE plants');
    store = await startStoreOn({ url: server.url } as Store['database'], {
      STORAGE_TIMEOUT: String(STORAGE_TIMEOUT),
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
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names TO '${name}'`);
    await admin.query('SELECT pg_reload_conf()');
    await until(async () => {
      const { rows } = await admin.query('SHOW synchronous_standby_names');
      return (rows as { synchronous_standby_names: string }[])[0]?.synchronous_standby_names === name;
    });
  }

  const waits = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  const awaited = (statement: string): Promise<void> =>
    until(async () => (await admin.query(`SELECT ${waits} AND query LIKE '%${statement}%'`)).rowCount === 1);
  const cancelWait = (): Promise<unknown> => admin.query(`SELECT pg_cancel_backend(pid) ${waits}`);
  const stored = async (): Promise<unknown> => (await admin.query('SELECT id::int FROM plants')).rows;
  const create = (headers = {}): Promise<RawResponse> => store.post('{"id":1,"name":"Rose"}', headers);

  it('should keep a plant from its 200, though the wait for the standby is cancelled', async () => {
    const answer = create();
    await awaited('INSERT');
    expect(await stored()).toEqual([]);
    await cancelWait();
    await awaited('pg_logical_emit_message');
    expect(await stored()).toEqual([{ id: 1 }]);
    expect(expectRefusal(await answer, 50400, 'semantic')).toMatch('unknown');
  });

  it('should keep it no longer when the wait of a later commit ends', async () => {
    const answer = create();
    await awaited('INSERT');
    await cancelWait();
    await awaited('pg_logical_emit_message');
    await cancelWait();
    await awaited('pg_logical_emit_message');
    await wantStandby('');
    expect(await answer).toMatchObject({ status: 200 });
    expect(await stored()).toEqual([{ id: 1 }]);
    expect(store.statistics.created).toBe(1);
  });

  it('should keep a repetition from its 200 if the first plant may not be on the standby', async () => {
    await admin.query(`INSERT INTO plants (id, name, idempotency_key) VALUES (1, 'Rose', 'key')`);
    const answer = create({ 'Idempotency-Key': 'key' });
    await awaited('pg_logical_emit_message');
    await wantStandby('');
    expect(await answer).toMatchObject({ status: 200 });
  });
});
