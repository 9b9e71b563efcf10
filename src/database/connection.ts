import pg from 'pg';
import { ExplainedError, reasonOf, rootReasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import type { DatabaseUrl } from './database-url.js';
import { MigrationError } from './database.errors.js';
import type { Query } from './database.js';

const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;
const NO_PASSWORD = /^SASL: .*client password must be.*/;

export interface Limits {
  /** Milliseconds that a statement may take; any time unless given. */
  readonly timeout?: number | undefined;
  /** Gives the connection up at once. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` on a connection of its own. @throws MigrationError if there is no connection, or the server refuses a statement */
export async function withConnection<T>(
  { config, description, place }: DatabaseUrl,
  work: (query: Query, client: pg.Client) => Promise<T>,
  { timeout, signal }: Limits = {},
): Promise<T> {
  const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: timeout };
  const client = new pg.Client({ ...config, keepAlive: true, ...limits });
  // A lost connection also fails what waits for it; without a listener, the event would end the process.
  client.on('error', () => undefined);
  // In the midst of a statement too. Without a password, pg would leave the connection open until the server ends it, after a minute.
  const end = (): void => void client.end();
  signal?.addEventListener('abort', end, { once: true });
  try {
    await client.connect();
  } catch (cause) {
    end();
    const reason = reasonOf(cause).replace(NO_PASSWORD, 'the server wants a password, and none is given');
    throw new MigrationError('unreachable', `cannot connect to database ${description}: ${reason}`, { cause });
  }
  try {
    return await work(async (sql, values) => (await client.query(sql, values)).rows as never, client);
  } catch (cause) {
    if (cause instanceof ExplainedError) throw cause;
    throw new MigrationError('refused', `${place}: ${rootReasonOf(cause)}`, { cause });
  } finally {
    // The work is done, and does not wait for a broken network.
    const timeUp = (): Error => new Error('the server does not close the connection');
    await withinTime(client.end(), CLOSE_TIMEOUT_MS, timeUp).catch(() => {
      (client as unknown as { unref(): void }).unref();
    });
  }
}
