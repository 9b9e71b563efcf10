import pg from 'pg';
import { ExplainedError, reasonOf, rootReasonOf } from '../util/text.js';
import { withTimeout } from '../util/timing.js';
import { MigrationError } from './database.errors.js';
import type { DatabaseUrl } from './database-url.js';

/** Runs one statement on any connection. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

const CONNECT_TIMEOUT_MS = 10_000;
/** A check or a command has to end even if the database does not answer. */
export const STATEMENT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;

/**
 * Runs `work` on a connection of its own. `timeout` limits each statement, in milliseconds.
 * @throws MigrationError if the connection fails or the server refuses a statement
 */
export async function withConnection<T>(
  { config, description, schemaDescription }: DatabaseUrl,
  work: (query: Query) => Promise<T>,
  { timeout = STATEMENT_TIMEOUT_MS }: { timeout?: number } = {},
): Promise<T> {
  const client = new pg.Client({ ...config, keepAlive: true, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // A lost connection fails its statements too. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    // Without a password, pg would leave the connection open until the server ends it after a minute.
    void client.end();
    throw new MigrationError('unreachable', `cannot connect to database ${description}: ${reasonOf(cause)}`, { cause });
  }
  try {
    const late = (): Error =>
      new Error(`no answer came within ${timeout / 1000} s, another session may hold a lock on a table of the store`);
    return await work(async (sql, values = []) => {
      const answer = client.query(sql, [...values]);
      return (await (timeout > 0 ? withTimeout(answer, timeout, late) : answer)).rows as never;
    });
  } catch (cause) {
    if (cause instanceof ExplainedError) throw cause;
    throw new MigrationError('refused', `${schemaDescription}: ${rootReasonOf(cause)}`, { cause });
  } finally {
    // The work is done, so it does not wait for a broken network.
    const timeUp = (): Error => new Error('the server does not close the connection');
    await withTimeout(client.end(), CLOSE_TIMEOUT_MS, timeUp).catch(() => {
      (client as unknown as { unref(): void }).unref();
    });
  }
}
