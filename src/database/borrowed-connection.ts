import { connect, type Socket } from 'node:net';
import type pg from 'pg';
import type { Connection, Rows, Statement } from './database.js';
import { CANCELLED, DatabaseTimeoutError, isRejection, isServerError, READ_ONLY } from './database.errors.js';
import type { PgClientLike } from './database.options.js';

/** By so much the server's own statement timeout comes first: it keeps the connection, ours gives it up. */
const GRACE_MS = 250;
/** Time for the answer to a statement that was cancelled; then its connection is given up. */
const CANCEL_TIMEOUT_MS = 1000;
/** The message that asks a server to cancel: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

/** Calls back with the answer to a statement. */
export type Done<Answer> = (error: Error | null | undefined, answer: Answer) => void;

/** Connections whose server has not waited for its synchronous standby. */
const unsynced = new WeakSet<PgClientLike>();

/** Prepares a new connection of a pool of the store's own. */
export function watch(client: pg.PoolClient): void {
  // A lost connection also fails what waits for it; without a listener, the event would end the process.
  client.on('error', () => undefined);
  // PostgreSQL only warns if a wait for its synchronous standby was cancelled. Functions of the database can warn with this code too.
  client.on('notice', ({ code, routine }) => {
    if (code === '01000' && routine === 'SyncRepWaitForLSN') unsynced.add(client);
  });
}

/**
 * A connection of a pool. It is returned once it is released and its last statement is answered, or is known never to be: so there are no
 * more sessions than connections in the pool.
 */
export class BorrowedConnection implements Connection {
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

  query(statement: Statement, deadline = performance.now() + this.timeout): Promise<Rows> {
    return this.send<Rows>(deadline, (done) => {
      const answer = this.client.query(statement as never) as Promise<Rows>;
      answer.then(
        (rows) => {
          done(undefined, rows);
        },
        done as (error: Error) => void,
      );
    });
  }

  /** @param deadline by `performance.now()`: until then, and for a moment more, the caller waits for the answer */
  send<Answer>(deadline: number, send: (done: Done<Answer>) => void): Promise<Answer> {
    this.pending += 1;
    return new Promise((resolve, reject) => {
      let givingUp: NodeJS.Timeout | undefined;
      const timeUp = (): void => {
        const failure = new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
        this.fault = failure;
        reject(failure);
        // If it were closed at once, a session that waits for a standby would go on, and each new connection would add one.
        requestCancel(this.client);
        givingUp = setTimeout(() => {
          this.giveBack();
        }, CANCEL_TIMEOUT_MS);
      };
      // The server's own time limit comes first, and has the better answer.
      const timer = setTimeout(timeUp, deadline + GRACE_MS - performance.now());
      send((error, answer) => {
        clearTimeout(timer);
        clearTimeout(givingUp);
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

  on(): void {
    // A lost connection also fails what waits for it.
  }

  removeListener(): void {
    // There are none.
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
    // A server may go on with what it has cancelled, as Citus does if a node hangs; and a standby takes no later create either.
    const isPlain =
      isServerError(failure) && isRejection(failure) && ![READ_ONLY, CANCELLED].includes(failure.code ?? '');
    if (!isPlain) this.fault ??= failure;
    // For the log, which has the server's code, detail and hint from it.
    return isServerError(failure) ? Object.assign(failure, { cause: Object.assign({}, failure) }) : failure;
  }
}

/** What the types of pg leave out of a client. */
type Internals = Readonly<{ connection?: { stream: Socket }; host: string; port: number }> &
  Readonly<{ processID: number; secretKey: number }>;

/** Asks the server to end what a connection does, as libpq does. pg's own `cancel()` sends nothing over TLS. */
function requestCancel(client: PgClientLike): void {
  const { connection, host, port, processID, secretKey } = client as unknown as Internals;
  // A host may lend a client of another kind.
  if (connection === undefined) return;
  const { remoteAddress, remotePort = 0 } = connection.stream;
  const socket = remoteAddress === undefined ? connect(`${host}/.s.PGSQL.${port}`) : connect(remotePort, remoteAddress);
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  const numbers = [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey];
  for (const [index, number] of numbers.entries()) request.writeInt32BE(number, 4 * index);
  // There is no answer, and nothing depends on its success.
  socket.on('error', () => undefined).setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.end(request);
}
