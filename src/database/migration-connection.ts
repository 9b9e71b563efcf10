import pg from 'pg';
import type { DatabaseUrl } from './database-url.js';
import { MigrationError } from './migration.error.js';
import { reasonOf } from './reason-of.js';

const CONNECT_TIMEOUT = 10_000;

/**
 * Lends a connection of its own for the time of `work`.
 *
 * @param timeout milliseconds that a statement may take; any time unless given
 */
export async function withConnection<T>(
  database: DatabaseUrl,
  work: (client: pg.Client) => Promise<T>,
  timeout?: number,
): Promise<T> {
  const client = await connect(database, timeout);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function connect({ connectionString, description }: DatabaseUrl, timeout?: number): Promise<pg.Client> {
  try {
    const client = new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: timeout,
      keepAlive: true,
    });
    // A lost connection also fails the statement that needs it; unheard, the event would end the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (cause) {
    const message = `cannot connect to database ${description}: ${reasonOf(cause)}`;
    throw new MigrationError('unreachable', message, { cause });
  }
}
