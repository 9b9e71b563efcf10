import { connect, type Socket } from 'node:net';
import type { QueryValue } from './column-query.js';
import { CANCELLED, DatabaseTimeoutError, isRejection, isServerError, READ_ONLY } from './database.errors.js';
import type { PgClientLike } from './database.options.js';

/** By so much the server's own statement timeout comes first: it keeps the connection, ours gives it up. */
const GRACE_MS = 250;
/** Time for the answer to a statement that was cancelled; then its connection is given up. */
const CANCEL_TIMEOUT_MS = 1000;
/** The message that asks a server to cancel: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

/** Runs one statement, on whichever connection there is. */
export type Query = <Row>(sql: string, values?: QueryValue[]) => Promise<Row[]>;

// Types of our own: those of pg would reach the declarations that a host compiles.

/** One statement, in the form that pg takes. */
export interface QueryConfig {
  readonly text: string;
  readonly values?: QueryValue[];
}

/** The answer to a statement, in the form that pg gives. */
export interface QueryResult {
  readonly rows: unknown[];
}

/** Calls back with the answer to a statement. */
export type Done<Answer> = (error: Error | null | undefined, answer: Answer) => void;

/**
 * The database that holds the plants, whether the store connects to it by itself or borrows connections from the host. The class of an
 * error says whether the statement was sent: with a `DatabaseUnreachableError` or a `DatabaseOverloadedError` it was not. A statement
 * that PostgreSQL rejected fails with a `DatabaseError` of pg. After any other error the outcome is unknown.
 */
export abstract class Database {
  /** The schema that holds the tables. */
  abstract readonly schema: string;
  /** Milliseconds to wait for a connection and the answer to a statement, both together. */
  abstract readonly timeout: number;
  /** The maximum number of connections; Infinity if it is not known. */
  abstract readonly connections: number;
  abstract readonly connectionsInUse: number;
  /** Hears of each wait for a connection, in vain too: metrics set it. */
  connectionWaits: { observeSince(moment: number): void } | undefined;

  /** Whether every connection is in use, as far as that is known. */
  abstract isBusy(): boolean;
  abstract connect(): Promise<BorrowedConnection>;
  /** Runs one statement on any connection. */
  abstract execute(statement: QueryConfig): Promise<QueryResult>;
  /** The same, and returns the first column of its rows, as texts. */
  abstract queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]>;

  /** The tables' names have to be qualified: the connection may have any `search_path`. */
  readonly query: Query = async <Row>(text: string, values: QueryValue[] = []): Promise<Row[]> =>
    (await this.execute({ text, values })).rows as Row[];
}

/** Connections whose server has not waited for its synchronous standby, of which PostgreSQL only warns. */
export const unsynced = new WeakSet<PgClientLike>();

/**
 * A connection of a pool. It is returned once it is released and its last statement is answered, or is known never to be: so there are no
 * more sessions than connections in the pool.
 */
export class BorrowedConnection {
  private pending = 0;
  private isReleased = false;
  private isReturned = false;
  /** Why the connection cannot be used again. */
  private fault: Error | undefined;

  constructor(
    readonly client: PgClientLike,
    private readonly timeout: number,
    private readonly onReturn?: () => void,
  ) {}

  query(statement: QueryConfig, deadline = performance.now() + this.timeout): Promise<QueryResult> {
    return this.send<QueryResult>(deadline, (done) => {
      const answer = this.client.query(statement as never) as Promise<QueryResult>;
      answer.then(done.bind(undefined, null), done as (error: Error) => void);
    });
  }

  /** @param deadline by `performance.now()`: until then, and for a moment more, the caller waits for the answer */
  send<Answer>(deadline: number, send: (done: Done<Answer>) => void): Promise<Answer> {
    this.pending += 1;
    return new Promise((resolve, reject) => {
      const timeUp = (): void => {
        reject((this.fault = new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`)));
        // If it were closed at once, a session that waits for a standby would go on, and each new connection would add one.
        requestCancel(this.client);
        timer = setTimeout(() => {
          this.giveBack();
        }, CANCEL_TIMEOUT_MS);
      };
      // The server's own time limit comes first, and has the better answer.
      let timer = setTimeout(timeUp, deadline + GRACE_MS - performance.now());
      send((error, answer) => {
        clearTimeout(timer);
        const failure = error ?? this.findWarning();
        if (failure) reject(this.judge(failure));
        else resolve(answer);
        this.pending -= 1;
        if (this.isReleased && this.pending === 0) this.giveBack();
      });
    });
  }

  release(failure?: Error): void {
    this.fault ??= failure;
    this.isReleased = true;
    if (this.pending === 0) this.giveBack();
  }

  /** With a fault the pool closes the connection, in the midst of a statement too. */
  private giveBack(): void {
    if (this.isReturned) return;
    this.isReturned = true;
    this.onReturn?.();
    this.client.release(this.fault);
  }

  private findWarning(): Error | undefined {
    if (!unsynced.delete(this.client)) return undefined;
    return new DatabaseTimeoutError('PostgreSQL did not wait for its synchronous standby');
  }

  /** After a plain rejection the connection is as good as before. */
  private judge(failure: Error): Error {
    const isServers = isServerError(failure);
    // A server may go on with what it has cancelled, as Citus does if a node hangs; and a standby takes no later create either.
    const isPlain = isServers && isRejection(failure) && ![READ_ONLY, CANCELLED].includes(failure.code ?? '');
    if (!isPlain) this.fault ??= failure;
    // For the log, which has the server's code, detail and hint from it.
    return isServers ? Object.assign(failure, { cause: Object.assign({}, failure) }) : failure;
  }
}

/** What the types of pg leave out of a client. */
interface Internals {
  readonly connection?: { readonly stream: Socket };
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/** Asks the server to end what a connection does, as libpq does. pg's own `cancel()` sends nothing over TLS. */
function requestCancel(client: object): void {
  const { connection, host, port, processID, secretKey } = client as Internals;
  // A host may lend a client of another kind.
  if (connection === undefined) return;
  const { remoteAddress, remotePort = 0 } = connection.stream;
  const socket = remoteAddress === undefined ? connect(`${host}/.s.PGSQL.${port}`) : connect(remotePort, remoteAddress);
  const numbers = [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey];
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  for (const [index, number] of numbers.entries()) request.writeInt32BE(number, 4 * index);
  // There is no answer, and nothing depends on its success.
  socket.on('error', () => undefined).setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.end(request);
}
