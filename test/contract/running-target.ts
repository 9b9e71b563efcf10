import { afterAll, beforeAll } from '@jest/globals';
import { openTestConnection, type TestConnection, type TestDatabase } from '../support/database/test-database.js';
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
  let connection: TestConnection;

  beforeAll(async () => {
    started = await start();
    connection = await openTestConnection(started.database.url);
    target = { ...started, database: connection };
  });
  afterAll(async () => {
    await connection.end();
    await started.stop();
  });
  return () => target;
}
