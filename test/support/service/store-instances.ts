import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import type { RawResponse } from '../http/raw-connection.js';
import type { RequestHeaders } from '../http/request.js';
import { issueToken, type StoredToken, type TokenFields } from '../tokens/issued-token.js';
import { startStoreOn, type Store } from './store.js';

/** No plant: an accepted token is answered with 40003, and nothing is written. */
export const NO_PLANT = '{}';

/** Two instances of the service on one database. */
export class StoreInstances {
  private constructor(
    readonly database: TestDatabase,
    readonly stores: readonly [Store, Store],
  ) {}

  static async start(variables: Record<string, string> = {}): Promise<StoreInstances> {
    const database = await createTestDatabase();
    const start = (): Promise<Store> => startStoreOn(database, variables);
    return new StoreInstances(database, [await start(), await start()]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.stores.map((store) => store.stop()));
    await this.database.drop();
  }

  issue(fields?: TokenFields): Promise<StoredToken> {
    return issueToken(this.database, fields);
  }

  /** The number that each instance answers with to a request with no plant: 40003 if the credential is right. */
  async verdicts(headers: RequestHeaders): Promise<number[]> {
    return Promise.all(this.stores.map(async (store) => errorOf(await store.post(NO_PLANT, headers))));
  }

  /** The sessions of both instances that are there for access tokens. */
  tokenSessions(): Promise<{ pid: number }[]> {
    return tokenSessions(this.database);
  }
}

export function errorOf(response: RawResponse | undefined): number {
  return (JSON.parse(response?.body ?? '{}') as { error: number }).error;
}

/** Ends the sessions for access tokens, as an administrator would. */
export async function endTokenSessions(database: TestDatabase): Promise<void> {
  const sessions = await tokenSessions(database);
  await database.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [
    sessions.map(({ pid }) => pid),
  ]);
}

export function tokenSessions(database: TestDatabase): Promise<{ pid: number; query: string }[]> {
  return database.query(
    `SELECT pid, query FROM pg_stat_activity WHERE application_name = 'plant-store-tokens' AND datname = current_database()`,
  );
}
