import pg from 'pg';
import { reasonOf } from '../../util/text.js';
import type { DatabaseUrl } from '../database-url.js';
import type { Query } from '../database.js';
import { giveUp, ignoreErrors, internalsOf } from '../pg-client.js';
import { MigrationError, refusal } from './migration-status.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** Time for the server to close the connection: the work is done, and must not wait for a broken network. */
const CLOSE_TIMEOUT_MS = 2000;

export interface Limits {
  /** Milliseconds that a statement may take; any time unless given. */
  readonly timeout?: number | undefined;
  /** Gives the connection up at once. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` on a connection of its own. @throws MigrationError if there is no connection, or the server refuses a statement */
export async function withConnection<T>(
  database: DatabaseUrl,
  work: (query: Query, client: pg.Client) => Promise<T>,
  { timeout, signal }: Limits = {},
): Promise<T> {
  const { connectionString, description } = database;
  const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: timeout };
  let client: pg.Client | undefined;
  try {
    client = ignoreErrors(new pg.Client({ connectionString, keepAlive: true, ...limits }));
    const abort = giveUp.bind(undefined, client, 'it is not wanted any more');
    signal?.addEventListener('abort', abort, { once: true });
    await client.connect();
  } catch (cause) {
    // Without a password pg leaves the connection open until the server ends it, after a minute.
    if (client) giveUp(client);
    const reason = reasonOf(cause).replace(
      /^SASL: .*client password must be.*/,
      'the server wants a password, and none is given',
    );
    const message = `cannot connect to database ${description}: ${reason}`;
    throw new MigrationError('unreachable', message, { cause });
  }
  try {
    return await work(async (sql, values) => (await client.query(sql, values)).rows as never, client);
  } catch (error) {
    throw refusal(error, database.place);
  } finally {
    const timer = setTimeout(giveUp, CLOSE_TIMEOUT_MS, client);
    await client.end();
    clearTimeout(timer);
  }
}

/** Other clients of a pooler may take a session between two statements of ours. */
const COMPARISONS = 3;

/** Whether a pooler gives each transaction another session, as PgBouncer does in transaction mode. */
export async function sharesSessions(database: DatabaseUrl, client: pg.Client, limits?: Limits): Promise<boolean> {
  const session = await sessionOf(client);
  // PostgreSQL's cancel key begins with the same number. A pooler has keys of its own, in every mode.
  if (internalsOf(client).processID === session) return false;
  const compare = async (_query: Query, other: pg.Client): Promise<boolean> => {
    for (let count = 0; count < COMPARISONS; count++)
      if ((await sessionOf(other)) === session || (await sessionOf(client)) !== session) return true;
    return false;
  };
  return withConnection(database, compare, limits);
}

export async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** Any number that no other program is likely to use; this one spells "PLNT". */
const LOCK_CLASS = 0x504c4e54;
/** The lock that Prisma's schema engine takes, for the whole database. */
const PRISMA_LOCK = 72707369;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Makes this transaction, or else this session, the only one that migrates the schema. Waits for other migrators, those of
 * `prisma migrate` included, for `timeout` milliseconds. From then on, names mean objects of the schema, and of no other role.
 */
export async function acquireMigrationLock(
  query: Query,
  schema: string,
  timeout: number,
  scope: 'LOCAL' | 'SESSION',
): Promise<void> {
  const lock = `pg_catalog.pg_advisory_${scope === 'LOCAL' ? 'xact_lock' : 'lock'}`;
  try {
    // A role's own limits must not end a transaction that waits, or lets creates go on.
    await query(`SET ${scope} search_path TO ${pg.escapeIdentifier(schema)}, pg_temp; SET ${scope} statement_timeout = 0;
      SET ${scope} idle_in_transaction_session_timeout = 60000; SET ${scope} lock_timeout = ${timeout}`);
    const own = `${lock}(${LOCK_CLASS}::int4, pg_catalog.hashtext($1::text))`;
    await query(`SELECT ${own}, ${lock}(${PRISMA_LOCK}::int8)`, [schema]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    const found = `another process is migrating schema ${schema} and has not finished within ${timeout} ms`;
    const advice = 'let it finish, or end its connection if it hangs, and try again';
    throw new MigrationError('locked', `${found}: ${advice}`, { cause: error });
  }
}
