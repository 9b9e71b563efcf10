import { DatabaseTimeoutError } from './database.errors.js';
import type { PgClientLike, PgPoolLike } from './database.options.js';

/**
 * The host's pool for Prisma's adapter: every connection is borrowed for a time, and torn down if it is not returned by then.
 * Nothing depends on the class of a pool, a connection or an error, for they may come from another copy of pg than ours.
 */
export class HostPool {
  /** @param loan milliseconds to keep a connection */
  constructor(
    private readonly pool: PgPoolLike,
    private readonly loan: number,
  ) {}

  /** The maximum number of connections, as far as that is known. */
  get max(): number {
    return this.pool.options?.max ?? Infinity;
  }

  /** Whether every connection is in use. */
  isBusy(): boolean {
    const { totalCount = 0, idleCount = 0 } = this.pool;
    return totalCount >= this.max && idleCount === 0;
  }

  async connect(): Promise<PgClientLike> {
    const connection: Partial<PgClientLike> | undefined = await this.pool.connect();
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
    const timer = setTimeout(tearDown, this.loan);
    return {
      query: connection.query.bind(connection),
      on: connection.on.bind(connection),
      removeListener: connection.removeListener.bind(connection),
      release,
    };
  }

  /** Prisma's adapter would listen for idle connections that are lost: that is up to the host, which owns them. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }
}

function isClient(connection: Partial<PgClientLike> | undefined): connection is PgClientLike {
  return typeof connection?.query === 'function' && typeof connection.release === 'function';
}
