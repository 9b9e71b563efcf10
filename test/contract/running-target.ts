import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import type { TestDatabase } from '../support/test-database.js';
import type { ContractTarget } from './contract-target.js';

/** An application that keeps the contract, as it is started for the tests. */
export interface StartedTarget extends ContractTarget {
  readonly database: TestDatabase;
  stop(): Promise<void>;
}

/** An application that runs while the tests of the surrounding `describe` do. */
export function runningTarget(start: () => Promise<StartedTarget>): () => ContractTarget {
  let started: StartedTarget;
  let target: ContractTarget;
  // Hundreds of tests look into the database and empty it: a connection for each, and a wait for the disk, would take
  // longer than the tests.
  let client: pg.Client;

  beforeAll(async () => {
    started = await start();
    client = new pg.Client(started.database.url);
    await client.connect();
    await client.query('SET synchronous_commit TO off');
    const query = async <Row>(sql: string, parameters?: unknown[]): Promise<Row[]> =>
      (await client.query(sql, parameters)).rows as Row[];
    target = { ...started, database: { query } };
  });
  afterAll(async () => {
    await client.end();
    await started.stop();
  });
  return () => target;
}
