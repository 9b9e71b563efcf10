import { DEFAULT_SCHEMA } from './database-url.js';
import {
  DEFAULT_STORAGE_TIMEOUT,
  type PgClientLike,
  type PgPoolLike,
  type PoolDatabaseOptions,
} from './database.options.js';
import { type QueryConfig, type QueryResult, StorePool } from './store-pool.js';

/** The connections of a pool of the host. The pool, its clients and its errors may come from another copy of pg. */
export class HostPool extends StorePool {
  private readonly pool: PgPoolLike;

  constructor({ pool, schema = DEFAULT_SCHEMA, timeout = DEFAULT_STORAGE_TIMEOUT }: PoolDatabaseOptions) {
    super(schema, pool.options?.max ?? Infinity, timeout, false);
    this.pool = pool;
  }

  isBusy(): boolean {
    const { totalCount = 0, idleCount = 0 } = this.pool;
    return totalCount >= this.size && idleCount === 0;
  }

  protected async take(): Promise<PgClientLike> {
    const client = await this.pool.connect();
    // A client of pg has a `connect()` too, which returns no connection.
    if (typeof (client as Partial<PgClientLike> | undefined)?.release !== 'function')
      throw new TypeError('connect() of the pool gave no connection with release(): it has to be a Pool of pg');
    return client;
  }

  /** A wrapper of pg may know no callbacks, and may throw at once. */
  protected async send(client: PgClientLike, statement: QueryConfig): Promise<QueryResult> {
    try {
      return (await client.query(statement as never)) as QueryResult;
    } catch (error) {
      throw this.toStoreError(error);
    }
  }
}
