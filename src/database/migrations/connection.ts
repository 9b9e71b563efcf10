import { Socket } from 'node:net';
import pg from 'pg';
import { reasonOf } from '../../util/text.js';
import type { DatabaseUrl } from '../database-url.js';
import { clientOf } from '../host-list.js';
import { MigrationError } from './migration-status.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** For the server to close its end: the work is done, and must not wait for a network that is gone. */
const CLOSE_TIMEOUT_MS = 2000;

interface ConnectionLimits {
  /** Milliseconds that a statement may take; any time unless given. */
  readonly timeout?: number | undefined;
  /** Gives the connection up at once. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` on a connection of its own. */
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
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS);
    await client.end();
    clearTimeout(timer);
  }
}

async function connect(
  database: DatabaseUrl,
  { timeout, signal }: ConnectionLimits,
  socket: Socket,
): Promise<pg.Client> {
  const { connectionString, description } = database;
  signal?.addEventListener('abort', () => socket.destroy(new Error('it is not wanted any more')), { once: true });
  try {
    const client = new (clientOf(database))({
      connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: timeout,
      keepAlive: true,
      // Ours, because pg has no way to give up a connection that does not answer.
      stream: () => socket,
    });
    // A lost connection also fails the statement that needs it; without a listener, the event would end the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (cause) {
    const message = `cannot connect to database ${description}: ${reasonOf(cause)}`;
    throw new MigrationError('unreachable', message, { cause });
  }
}

/** Other clients of a pooler may take a session between two statements of ours. */
const COMPARISONS = 3;

/** Whether a pooler gives each transaction another session, as PgBouncer does in transaction mode. */
export async function sharesSessions(
  database: DatabaseUrl,
  client: pg.Client,
  limits?: ConnectionLimits,
): Promise<boolean> {
  const session = await sessionOf(client);
  // PostgreSQL's cancel key begins with the same number. A pooler has keys of its own, whatever its mode.
  if ((client as { processID?: number }).processID === session) return false;
  const compare = async (other: pg.Client): Promise<boolean> => {
    for (let count = 0; count < COMPARISONS; count++) {
      if ((await sessionOf(other)) === session || (await sessionOf(client)) !== session) return true;
    }
    return false;
  };
  return withConnection(database, compare, limits);
}

async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}

/** Any number that no other program is likely to use; this one spells "PLNT". */
const LOCK_CLASS = 0x504c4e54;
/** The lock that Prisma's schema engine takes by itself, for the whole database, and waits ten seconds for. */
const PRISMA_LOCK = 72707369;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Makes this connection the only one that migrates the schema, until it ends. Waits for other migrators,
 * those of `prisma migrate` included, for `timeout` milliseconds.
 */
export async function acquireMigrationLock(client: pg.ClientBase, schema: string, timeout: number): Promise<void> {
  try {
    await client.query(`SELECT set_config('lock_timeout', $1, false)`, [String(timeout)]);
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_CLASS, schema]);
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    // The engine takes it on a connection of its own.
    await client.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    throw new MigrationError(
      'locked',
      `another process is migrating schema ${schema} and has not finished within ${timeout} ms: ` +
        'let it finish, or end its connection if it hangs, and try again',
      { cause: error },
    );
  }
}
