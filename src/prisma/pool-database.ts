import { withinTime } from '../util/timing.js';
import type { QueryValue } from './column-query.js';
import { DEFAULT_SCHEMA } from './database-url.js';
import { DatabaseOverloadedError, DatabaseTimeoutError, DatabaseUnreachableError } from './database.errors.js';
import {
  DEFAULT_STORAGE_TIMEOUT,
  type PgClientLike,
  type PgPoolLike,
  type PoolDatabaseOptions,
} from './database.options.js';
import { BorrowedConnection, Database, type QueryResult, type QueryConfig } from './database.js';

/**
 * Borrows connections from a pool of the host. Each statement runs in a transaction whose time limit ends with it, so
 * the session is returned unchanged. The pool and its errors may come from another copy of pg.
 */
export class PoolDatabase extends Database {
  readonly schema: string;
  readonly timeout: number;
  readonly connections: number;
  connectionsInUse = 0;
  private readonly pool: PgPoolLike;

  constructor({ pool, schema = DEFAULT_SCHEMA, timeout = DEFAULT_STORAGE_TIMEOUT }: PoolDatabaseOptions) {
    super();
    this.pool = pool;
    this.schema = schema;
    this.timeout = timeout;
    this.connections = pool.options?.max ?? Infinity;
  }

  isBusy(): boolean {
    const { totalCount = 0, idleCount = 0 } = this.pool;
    return totalCount >= this.connections && idleCount === 0;
  }

  async connect(): Promise<BorrowedConnection> {
    const client = await this.pool.connect();
    // A client of pg has a `connect()` too, which returns no connection.
    if (typeof (client as Partial<PgClientLike> | undefined)?.release !== 'function')
      throw new TypeError('connect() of the pool gave no connection with release(): it has to be a Pool of pg');
    // A lost connection fails its statements too. Without a listener, the event would end the process.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    this.connectionsInUse += 1;
    return new BorrowedConnection(client, this.timeout, () => {
      this.connectionsInUse -= 1;
      client.removeListener('error', ignore);
    });
  }

  async execute(statement: QueryConfig): Promise<QueryResult> {
    const deadline = performance.now() + this.timeout;
    const connection = await this.begin(deadline);
    try {
      const result = await connection.query(statement, deadline);
      await connection.query({ text: 'COMMIT' }, deadline);
      connection.release();
      return result;
    } catch (error) {
      abandon(connection);
      throw error;
    }
  }

  async queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]> {
    const { rows } = await this.execute({ text: sql, values: [...values] });
    return rows.map((row) => String(Object.values(row as object)[0]));
  }

  /** Begins a transaction. If this fails, the statement was not sent. */
  private async begin(deadline: number): Promise<BorrowedConnection> {
    // The answer counts at the beginning of the wait, not at its end.
    const waits = this.isBusy();
    const connecting = this.connect();
    const timeUp = (): Error => new DatabaseTimeoutError(`no transaction could be begun within ${this.timeout} ms`);
    try {
      const connection = await withinTime(connecting, this.timeout, timeUp);
      const left = Math.max(1, Math.ceil(deadline - performance.now()));
      await connection.query({ text: `BEGIN; SET LOCAL statement_timeout = ${left}` }, deadline);
      if (performance.now() < deadline) return connection;
      throw timeUp();
    } catch (cause) {
      connecting.then(abandon, () => undefined);
      // An error with a code comes from the server or the network, so a connection was free.
      throw waits && (cause as { code?: string }).code === undefined
        ? new DatabaseOverloadedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no transaction could be begun', { cause });
    }
  }
}

/** Rolls back and returns the connection. If the rollback fails, the connection and its transaction are lost. */
function abandon(connection: BorrowedConnection): void {
  connection.query({ text: 'ROLLBACK' }).catch(() => undefined);
  connection.release();
}
