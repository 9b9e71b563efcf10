import type { OnApplicationShutdown } from '@nestjs/common';
import { DEFAULT_SCHEMA } from './database-url.js';
import {
  DEFAULT_STORAGE_TIMEOUT,
  type PgClientLike,
  type PgPoolLike,
  type PoolDatabaseOptions,
} from './database.options.js';
import { type QueryConfig, type QueryResult, StorePool, warnOfLostConnection } from './store-pool.js';

/** The connections of a pool of the host. The pool, its clients and its errors may come from another copy of pg. */
export class HostPool extends StorePool implements OnApplicationShutdown {
  private readonly pool: PgPoolLike;

  constructor({ pool, schema = DEFAULT_SCHEMA, timeout = DEFAULT_STORAGE_TIMEOUT }: PoolDatabaseOptions) {
    const description = `schema ${schema} of the database of the host`;
    super(schema, description, pool.options?.max ?? Infinity, timeout, false);
    this.pool = pool;
    // An event without a listener would end the process. Prisma's adapter listens to a pool too.
    pool.on?.('error', warnOfLostConnection);
  }

  onApplicationShutdown(): void {
    this.pool.removeListener?.('error', warnOfLostConnection);
  }

  isBusy(): boolean {
    const { totalCount = 0, idleCount = 0 } = this.pool;
    return totalCount >= this.size && idleCount === 0;
  }

  protected async take(): Promise<PgClientLike> {
    return await this.pool.connect();
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
