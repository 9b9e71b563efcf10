import { withinTime } from '../util/timing.js';
import { ConnectionPoolExhaustedError, DatabaseTimeoutError, DatabaseUnreachableError } from './database.errors.js';
import type { PgClientLike, PgPoolLike } from './database.options.js';

/**
 * The host's pool for Prisma's adapter: every connection is borrowed for a time, and torn down if it is not returned by then.
 * Nothing depends on the class of a pool, a connection or an error, for they may come from another copy of pg than ours.
 */
export class HostPool {
  /**
   * @param wait milliseconds to wait for a connection
   * @param loan milliseconds to keep it, the wait included
   */
  constructor(
    private readonly pool: PgPoolLike,
    private readonly wait: number,
    private readonly loan: number,
  ) {}

  async connect(): Promise<PgClientLike> {
    const end = performance.now() + this.loan;
    const { totalCount = 0, idleCount = 0, options: { max = Infinity } = {} } = this.pool;
    const isFull = totalCount >= max && idleCount === 0;
    const connecting: Promise<Partial<PgClientLike> | undefined> = this.pool.connect();
    try {
      const timeUp = (): Error => new DatabaseTimeoutError(`no connection came within ${this.wait} ms`);
      return borrow(await withinTime(connecting, this.wait, timeUp), end - performance.now());
    } catch (cause) {
      // One that comes late is returned.
      connecting.then(
        (connection) => connection?.release?.(),
        () => undefined,
      );
      // An error with a code is the server's or the network's: the wait for others was over by then.
      throw isFull && (Object(cause) as { code?: unknown }).code === undefined
        ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no database connection could be made', { cause });
    }
  }

  /** Prisma's adapter would listen for idle connections that are lost: that is up to the host, which owns them. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }
}

/** The connection, returned once, and torn down if that does not happen in time. */
function borrow(connection: Partial<PgClientLike> | undefined, milliseconds: number): PgClientLike {
  if (!isClient(connection)) {
    // A pg client has a `connect()` as well, which gives nothing to return.
    throw new TypeError(
      'connect() of the pool gave no connection with query() and release(): it has to be a Pool of pg',
    );
  }
  let isReturned = false;
  const release = (error?: Error | boolean): void => {
    if (isReturned) return;
    isReturned = true;
    clearTimeout(timer);
    connection.release(error);
  };
  const tearDown = (): void => {
    release(new DatabaseTimeoutError('the database did not answer in time'));
  };
  const timer = setTimeout(tearDown, Math.max(0, milliseconds));
  return {
    query: connection.query.bind(connection),
    on: connection.on.bind(connection),
    removeListener: connection.removeListener.bind(connection),
    release,
  };
}

function isClient(connection: Partial<PgClientLike> | undefined): connection is PgClientLike {
  return typeof connection?.query === 'function' && typeof connection.release === 'function';
}
