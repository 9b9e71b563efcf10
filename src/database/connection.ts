import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { ExplainedError, reasonOf } from '../util/text.js';
import type { DatabaseUrl } from './database-url.js';
import { MigrationError, rootReasonOf } from './database.errors.js';

/** Runs one statement on any connection. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

/** To connect, and for an answer: a check or a command has to end even if the database does not answer. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** How long a cancelled statement may take to answer. */
export const CANCEL_TIMEOUT_MS = 1000;
/** The CancelRequest of the protocol: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

/** Private members of a client of pg, for a CancelRequest alone: pg hands out neither these numbers nor its socket. */
interface CancelKey {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection?: { readonly stream?: Socket };
}

/**
 * Runs `work` on a connection of its own. `timeout` limits each statement, in milliseconds.
 * @throws MigrationError if the connection fails or the server refuses a statement
 */
export async function withConnection<T>(
  { config, description, schemaDescription }: DatabaseUrl,
  work: (query: Query) => Promise<T>,
  timeout = STATEMENT_TIMEOUT_MS,
): Promise<T> {
  const client = new pg.Client({ ...config, keepAlive: true, connectionTimeoutMillis: STATEMENT_TIMEOUT_MS });
  // A lost connection fails its statements too. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  const timeoutError = (): Error =>
    new Error(`no answer came within ${timeout / 1000} s, another session may hold a lock on a table of the store`);
  try {
    await client.connect().catch((cause: unknown) => {
      const found = `cannot connect to database ${description}: ${reasonOf(cause)}`;
      throw new MigrationError('unreachable', found, { cause });
    });
    return await work(async (sql, values = []) => {
      const { rows } = await withTimeout(client.query(sql, [...values]), timeout, timeoutError);
      return rows as never;
    });
  } catch (cause) {
    if (cause instanceof ExplainedError) throw cause;
    throw new MigrationError('refused', `${schemaDescription}: ${rootReasonOf(cause)}`, { cause });
  } finally {
    // Nothing waits for it: the work is done. In the midst of a statement, pg closes the socket at once.
    void client.end();
  }
}

/** Settles as the work does, or rejects when the time is up. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, timeoutError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const fail = (): void => {
      reject(timeoutError());
    };
    timer = setTimeout(fail, Math.max(0, milliseconds));
  });
  return Promise.race([work, timeout]).finally(() => {
    clearTimeout(timer);
  });
}

/**
 * Asks the server to cancel the statement of a client of pg, as libpq does. `cancel()` of pg sends nothing over TLS.
 * `pg_cancel_backend()` needs another connection, and behind a pooler it may end the statement of a stranger.
 */
export function requestCancel(client: object): void {
  const { connection, host, port, processID, secretKey } = client as CancelKey & Pick<pg.Client, 'host' | 'port'>;
  // The pool of a host may have another kind of client.
  if (connection?.stream === undefined) return;
  const { remoteAddress, remotePort = 0 } = connection.stream;
  const socket = remoteAddress === undefined ? connect(`${host}/.s.PGSQL.${port}`) : connect(remotePort, remoteAddress);
  const numbers = [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey];
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  for (const [index, number] of numbers.entries()) request.writeInt32BE(number, 4 * index);
  // The server sends no answer, and nothing depends on the success.
  socket.on('error', () => undefined).setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.end(request);
}
