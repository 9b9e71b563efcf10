import { Socket } from 'node:net';
import pg from 'pg';
import type { DatabaseUrl } from '../database-url.js';
import { MigrationError } from '../migration.error.js';
import { reasonOf } from '../../util/text.js';

const CONNECT_TIMEOUT = 10_000;
/** Milliseconds for the server to take leave. What was done is done, and must not wait for a network that has gone. */
const FAREWELL = 2000;

interface ConnectionLimits {
  /** Milliseconds that a statement may take; any time unless given. */
  readonly timeout?: number | undefined;
  /** Gives the connection up, whatever is under way. */
  readonly signal?: AbortSignal | undefined;
}

/** Lends a connection of its own for the time of `work`. */
export async function withConnection<T>(
  database: DatabaseUrl,
  work: (client: pg.Client) => Promise<T>,
  limits: ConnectionLimits = {},
): Promise<T> {
  const socket = new Socket();
  const client = await connect(database, limits, socket);
  try {
    return await work(client);
  } finally {
    const timer = setTimeout(() => socket.destroy(), FAREWELL);
    await client.end();
    clearTimeout(timer);
  }
}

async function connect(
  { connectionString, description }: DatabaseUrl,
  { timeout, signal }: ConnectionLimits,
  socket: Socket,
): Promise<pg.Client> {
  signal?.addEventListener('abort', () => socket.destroy(new Error('it is not wanted any more')), { once: true });
  try {
    const client = new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: timeout,
      keepAlive: true,
      // Held here, because pg has no way to give up a connection that does not answer.
      stream: () => socket,
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
