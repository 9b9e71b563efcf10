import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { startStore, type Store } from '../support/store.js';
import type { ContractTarget } from './contract-target.js';

/** A store that runs while the tests of the surrounding `describe` do. */
export function contractStore(variables: Record<string, string> = {}): () => ContractTarget {
  let store: Store;
  let target: ContractTarget;
  // Hundreds of tests look into the database and empty it: a connection for each, and a wait for the disk, would take
  // longer than the tests.
  let client: pg.Client;

  beforeAll(async () => {
    store = await startStore(variables);
    client = new pg.Client(store.database.url);
    await client.connect();
    await client.query('SET synchronous_commit TO off');
    const query = async <Row>(sql: string, parameters?: unknown[]): Promise<Row[]> =>
      (await client.query(sql, parameters)).rows as Row[];
    target = { ...store, database: { query } };
  });
  afterAll(async () => {
    await client.end();
    await store.stop();
  });
  return () => target;
}
