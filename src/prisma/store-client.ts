import type { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  DatabaseLostError,
  DatabaseTimeoutError,
  isRejection,
  isStandbyMissed,
  keepsSession,
} from './database.errors.js';
import type { PgClientLike } from './database.options.js';

/** The statement timeout of the server comes first by this margin, because its answer says more than ours. */
const GRACE_MS = 250;
/** How long a cancelled statement may take to answer. Then its connection is closed. */
const CANCEL_TIMEOUT_MS = 1000;
/** The CancelRequest of the protocol: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

// These are not the types of pg, which would become part of the declarations for hosts.

/** A statement in the form of pg. */
export interface QueryConfig {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** The answer of pg. */
export interface QueryResult {
  readonly rows: unknown[];
}

/** A client of a pool, and how statements are sent on it. */
export interface Loan {
  readonly client: PgClientLike;
  send(statement: QueryConfig): Promise<QueryResult>;
  /** It is called when the client goes back. */
  onReturn?(): void;
}

/** Clients that committed without their synchronous standby. PostgreSQL only warns of that. */
const unsynced = new WeakSet<PgClientLike>();

/** Listens to a client. Returns a function that ends this. A wrapper of pg may have no notices. */
export function watch(client: PgClientLike): () => void {
  const notices = client as unknown as EventEmitter;
  // A lost connection fails its statements too. Without a listener, the event would end the process.
  const ignore = (): void => undefined;
  const note = (notice: object): void => {
    if (isStandbyMissed(notice)) unsynced.add(client);
  };
  client.on('error', ignore);
  notices.on('notice', note);
  return () => {
    client.removeListener('error', ignore);
    notices.removeListener('notice', note);
  };
}

/**
 * A client on loan. It goes back to its pool when it is released and its last statement has ended, or one second after
 * the cancel request. Closing it at once would leave more sessions than the pool has connections.
 */
export class StoreClient {
  private pending = 0;
  private isReleased = false;
  private isReturned = false;
  private fault: Error | undefined;

  /**
   * @param timeout milliseconds, for a statement without a deadline
   * @param begin the statement that begins a transaction
   */
  constructor(
    private readonly loan: Loan,
    private readonly timeout: number,
    private readonly begin: string,
    private readonly onReturn: () => void,
  ) {}

  /**
   * Runs one statement. A rejection by PostgreSQL comes as pg gives it. After any other failure the outcome is unknown:
   * a `DatabaseTimeoutError` or a `DatabaseLostError`. They have no code: Prisma would replace an error that has one.
   *
   * @param deadline by `performance.now()`; the caller waits until then and a moment longer
   */
  query(statement: string | QueryConfig, deadline = performance.now() + this.timeout): Promise<QueryResult> {
    const given = typeof statement === 'string' ? { text: statement } : statement;
    // Prisma begins its transactions with this text too.
    const sent = given.text === 'BEGIN' ? { text: this.begin } : given;
    this.pending += 1;
    return new Promise((resolve, reject) => {
      const timeUp = (): void => {
        reject((this.fault = new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`)));
        // A session that waits for a standby would survive the close, and each new connection would add one.
        requestCancel(this.loan.client);
        timer = setTimeout(() => {
          this.giveBack();
        }, CANCEL_TIMEOUT_MS);
      };
      // The time limit of the server comes first and explains the failure better.
      let timer = setTimeout(timeUp, deadline + GRACE_MS - performance.now());
      const end = (): void => {
        clearTimeout(timer);
        this.pending -= 1;
        if (this.isReleased && this.pending === 0) this.giveBack();
      };
      this.loan
        .send(sent)
        .then((result) => {
          this.assertSynced();
          resolve(result);
        })
        .catch((error: unknown) => {
          reject(this.toStoreError(error));
        })
        .finally(end);
    });
  }

  /** @param failure with it, the pool closes the connection */
  release(failure?: Error): void {
    this.fault ??= failure;
    this.isReleased = true;
    if (this.pending === 0) this.giveBack();
  }

  /** Prisma listens to the clients that it borrows. Statements report a lost connection, so nobody needs its events. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  /** With a fault the pool closes the connection, even during a statement. */
  private giveBack(): void {
    if (this.isReturned) return;
    this.isReturned = true;
    this.loan.onReturn?.();
    this.onReturn();
    this.loan.client.release(this.fault);
  }

  private assertSynced(): void {
    if (unsynced.delete(this.loan.client))
      throw new DatabaseTimeoutError('PostgreSQL did not wait for its synchronous standby');
  }

  private toStoreError(error: unknown): Error {
    const isKnown = isRejection(error) || error instanceof DatabaseTimeoutError;
    const failure = isKnown
      ? (error as Error)
      : new DatabaseLostError('the connection to the database was lost', { cause: error });
    if (!keepsSession(error)) this.fault ??= failure;
    return failure;
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
