import { connect, type Socket } from 'node:net';
import type { QueryValue } from './column-query.js';
import { CANCELLED, DatabaseTimeoutError, isRejection, isServerError, READ_ONLY } from './database.errors.js';
import type { PgClientLike } from './database.options.js';

/** The statement timeout of the server comes first by this margin, because its answer says more than ours. */
const GRACE_MS = 250;
/** How long a cancelled statement may take to answer. Then its connection is closed. */
const CANCEL_TIMEOUT_MS = 1000;
/** The CancelRequest of the protocol: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

/** Runs one statement on any connection. */
export type Query = <Row>(sql: string, values?: QueryValue[]) => Promise<Row[]>;

// These are not the types of pg, which would become part of the declarations for hosts.

/** A statement in the form of pg. */
export interface QueryConfig {
  readonly text: string;
  readonly values?: QueryValue[];
}

/** The answer of pg. */
export interface QueryResult {
  readonly rows: unknown[];
}

export type Done<Answer> = (error: Error | null | undefined, answer: Answer) => void;

/**
 * The database of the plants. Its connections are the store's own or borrowed from the host. The class of an error says
 * whether the statement was sent. With a `DatabaseUnreachableError` or a `DatabaseOverloadedError` it was not. A
 * statement that PostgreSQL rejected fails with a `DatabaseError` of pg. After any other error the outcome is unknown.
 */
export abstract class Database {
  abstract readonly schema: string;
  /** Milliseconds to wait for a connection and an answer together. */
  abstract readonly timeout: number;
  /** The most connections; Infinity if it is unknown. */
  abstract readonly connections: number;
  abstract readonly connectionsInUse: number;
  /** Metrics set this to observe each wait for a connection, also one that failed. */
  connectionWaits: { observeSince(moment: number): void } | undefined;

  /** Whether every connection is in use, as far as the store knows. */
  abstract isBusy(): boolean;
  abstract connect(): Promise<BorrowedConnection>;
  /** Runs one statement on any connection. */
  abstract execute(statement: QueryConfig): Promise<QueryResult>;
  /** Runs a statement and returns the first column of its rows as texts. */
  abstract queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]>;

  /** Names of tables must be qualified, because a connection may have any `search_path`. */
  readonly query: Query = async <Row>(text: string, values: QueryValue[] = []): Promise<Row[]> =>
    (await this.execute({ text, values })).rows as Row[];
}

/** Connections that committed without their synchronous standby. PostgreSQL only warns of that. */
export const unsynced = new WeakSet<PgClientLike>();

/**
 * A connection of a pool. It is returned when it is released and its last statement has ended, or one second after the
 * cancel request. Closing it at once would leave more sessions than the pool has connections.
 */
export class BorrowedConnection {
  private pending = 0;
  private isReleased = false;
  private isReturned = false;
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

  /** @param deadline by `performance.now()`; the caller waits until then and a moment longer */
  send<Answer>(deadline: number, send: (done: Done<Answer>) => void): Promise<Answer> {
    this.pending += 1;
    return new Promise((resolve, reject) => {
      const timeUp = (): void => {
        reject((this.fault = new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`)));
        // A session that waits for a standby would survive the close, and each new connection would add one.
        requestCancel(this.client);
        timer = setTimeout(() => {
          this.returnToPool();
        }, CANCEL_TIMEOUT_MS);
      };
      // The time limit of the server comes first and explains the failure better.
      let timer = setTimeout(timeUp, deadline + GRACE_MS - performance.now());
      send((error, answer) => {
        clearTimeout(timer);
        const failure = error ?? this.findWarning();
        if (failure) reject(this.noteFault(failure));
        else resolve(answer);
        this.pending -= 1;
        if (this.isReleased && this.pending === 0) this.returnToPool();
      });
    });
  }

  release(failure?: Error): void {
    this.fault ??= failure;
    this.isReleased = true;
    if (this.pending === 0) this.returnToPool();
  }

  /** With a fault the pool closes the connection, even during a statement. */
  private returnToPool(): void {
    if (this.isReturned) return;
    this.isReturned = true;
    this.onReturn?.();
    this.client.release(this.fault);
  }

  private findWarning(): Error | undefined {
    if (!unsynced.delete(this.client)) return undefined;
    return new DatabaseTimeoutError('PostgreSQL did not wait for its synchronous standby');
  }

  /** Decides whether the connection is still good. It is after a plain rejection. */
  private noteFault(failure: Error): Error {
    const isServers = isServerError(failure);
    // A cancelled statement may still run, as on Citus when a node hangs. A standby will take no later create either.
    const isPlain = isServers && isRejection(failure) && ![READ_ONLY, CANCELLED].includes(failure.code ?? '');
    if (!isPlain) this.fault ??= failure;
    // The log prints the code, detail and hint of the server from the cause.
    return isServers ? Object.assign(failure, { cause: Object.assign({}, failure) }) : failure;
  }
}

/** The members of a client that the types of pg leave out. */
interface Internals {
  readonly connection?: { readonly stream: Socket };
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/** Asks the server to cancel the statement, as libpq does. `cancel()` of pg sends nothing over TLS. */
function requestCancel(client: object): void {
  const { connection, host, port, processID, secretKey } = client as Internals;
  // A host may lend another kind of client.
  if (connection === undefined) return;
  const { remoteAddress, remotePort = 0 } = connection.stream;
  const socket = remoteAddress === undefined ? connect(`${host}/.s.PGSQL.${port}`) : connect(remotePort, remoteAddress);
  const numbers = [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey];
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  for (const [index, number] of numbers.entries()) request.writeInt32BE(number, 4 * index);
  // The server sends no answer, and nothing depends on the success.
  socket.on('error', () => undefined).setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.end(request);
}
