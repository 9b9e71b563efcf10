import { ConnectionPoolExhaustedError, DatabaseTimeoutError, DatabaseUnreachableError } from './database.errors.js';
import type { LendingPool, LentConnection } from './database.options.js';
import { withinTime } from '../util/timing.js';

/**
 * The application's pool as Prisma's adapter is given it: every connection is lent for a time, and given up where it is
 * not back by then. Nothing is asked of the class of a pool, a connection or an error, for they may come from another
 * copy of pg than ours.
 */
export class LentPool {
  /**
   * @param wait milliseconds to wait for a connection
   * @param loan milliseconds to keep it, the wait included
   */
  constructor(
    private readonly pool: LendingPool,
    private readonly wait: number,
    private readonly loan: number,
  ) {}

  async connect(): Promise<LentConnection> {
    const end = performance.now() + this.loan;
    const waits = isFull(this.pool);
    const connecting = this.pool.connect();
    try {
      const timeUp = (): Error => new DatabaseTimeoutError(`no connection came within ${this.wait} ms`);
      return lend(await withinTime(connecting, this.wait, timeUp), end - performance.now());
    } catch (cause) {
      giveBackLate(connecting);
      // An error with a code is the server's or the network's: the wait for others was over by then.
      throw waits && !hasCode(cause)
        ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no database connection could be made', { cause });
    }
  }

  /** Prisma's adapter would hear of idle connections that are lost: that is the application's, which owns them. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }
}

function giveBackLate(connecting: Promise<Partial<LentConnection> | undefined>): void {
  connecting.then(
    (connection) => connection?.release?.(),
    () => undefined,
  );
}

function hasCode(error: unknown): boolean {
  return (Object(error) as { code?: unknown }).code !== undefined;
}

function isFull({ totalCount = 0, idleCount = 0, options: { max = Infinity } = {} }: LendingPool): boolean {
  return totalCount >= max && idleCount === 0;
}

/** A pg client has a `connect()` as well, which gives nothing that could be given back. */
function assertLent(connection: Partial<LentConnection> | undefined): void {
  if (typeof connection?.query === 'function' && typeof connection.release === 'function') return;
  throw new TypeError('connect() of the pool gave no connection with query() and release(): it has to be a Pool of pg');
}

/** The connection, to be given back once, and torn down where that does not happen in time. */
function lend(connection: LentConnection, milliseconds: number): LentConnection {
  assertLent(connection);
  let isBack = false;
  const release = (error?: Error | boolean): void => {
    if (isBack) return;
    isBack = true;
    clearTimeout(timer);
    connection.release(error);
  };
  const timer = setTimeout(
    () => {
      release(new DatabaseTimeoutError('the database did not answer in time'));
    },
    Math.max(0, milliseconds),
  );
  return {
    query: connection.query.bind(connection),
    on: connection.on.bind(connection),
    removeListener: connection.removeListener.bind(connection),
    release,
  };
}
