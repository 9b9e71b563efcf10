import pg from 'pg';
import { createTestDatabase } from './test-database.js';

/** A database without tables, with a connection to look into it. */
export interface BareDatabase extends AsyncDisposable {
  readonly url: string;
  readonly client: pg.Client;
}

export async function openBareDatabase(): Promise<BareDatabase> {
  const database = await createTestDatabase({ migrated: false });
  const client = new pg.Client(database.url);
  await client.connect();
  return {
    url: database.url,
    client,
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await database.drop();
    },
  };
}
