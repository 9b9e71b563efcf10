import { Logger } from '@nestjs/common';
import pg from 'pg';
import { parseDatabaseUrl } from './database-url.js';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isRejection,
} from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_TIMEOUT, GRACE_MS, type UrlDatabaseOptions } from './database.options.js';

type ConnectCallback = Parameters<typeof pg.Pool.prototype.connect>[0];

/**
 * A pg pool whose errors tell, by their class, whether a failed statement was ever sent: only if it was not can a client be
 * promised that nothing was written. A statement that waited for its connection has only the rest of the time.
 */
export class ConnectionPool extends pg.Pool {
  readonly schema: string;
  readonly keepsStatements: boolean;
  readonly timeout: number;
  private readonly logger = new Logger(ConnectionPool.name);
  private inUse = 0;

  constructor({
    url,
    password,
    schema: ownSchema,
    size = DEFAULT_POOL_SIZE,
    timeout = DEFAULT_TIMEOUT,
  }: UrlDatabaseOptions) {
    const { connectionString, schema, keepsStatements, isPooled } = parseDatabaseUrl(url, password, ownSchema);
    super({
      connectionString,
      max: size,
      connectionTimeoutMillis: timeout,
      // PgBouncer refuses it, by default.
      ...(!isPooled && { statement_timeout: timeout }),
      query_timeout: timeout + GRACE_MS,
      keepAlive: true,
      application_name: 'plant-store',
      // What is answered with 200 is on disk, whatever the server's or the role's default may be.
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- pg-pool awaits it; its types do not say so
      onConnect: async (client) => {
        await client.query('SET synchronous_commit TO on');
      },
    });
    this.schema = schema;
    this.keepsStatements = keepsStatements;
    this.timeout = timeout;
    // The pool replaces an idle connection that the server closes; without a listener, the event ends the process.
    this.on('error', (error) => {
      this.logger.warn(`An idle database connection was lost: ${error.message}`);
    });
    this.on('acquire', () => {
      this.inUse += 1;
    });
    this.on('release', () => {
      this.inUse -= 1;
    });
  }

  // pg.Pool.query() goes through this method with a callback, pg.Pool.connect() callers with a promise.
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    // Now, and not when the time is up: a connection may just be replaced at that moment.
    const waits = this.isBusy();
    if (callback === undefined) {
      return super.connect().catch((error: unknown) => {
        throw this.notSent(error, waits);
      });
    }
    let acquired: pg.PoolClient | undefined;
    let late = false;
    const deadline = setTimeout(() => {
      const error = new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
      // pg.Pool.query() listens: it fails with this error and gives up the connection.
      if (acquired) return void acquired.emit('error', error);
      late = true;
      callback(this.notSent(error, waits), undefined, () => undefined);
    }, this.timeout + GRACE_MS);
    super.connect((error, client, release) => {
      if (late) {
        release();
        return;
      }
      const releaseInTime: typeof release = (reason) => {
        clearTimeout(deadline);
        release(wasRejected(reason) ? undefined : reason);
      };
      if (client) {
        acquired = client;
        client.release = releaseInTime;
      } else {
        clearTimeout(deadline);
      }
      callback(error && this.notSent(error, waits), client, releaseInTime);
    });
  }

  /** Connections that are just being made do not count: they wait for the database as well. */
  private isBusy(): boolean {
    return this.inUse >= this.options.max;
  }

  private notSent(cause: unknown, waited: boolean): Error {
    return waited || this.isBusy()
      ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
      : new DatabaseUnreachableError('no database connection could be made', { cause });
  }
}

/** pg.Pool.query() gives up a connection for any error; after a mere rejection of a statement it is as good as before. */
function wasRejected(error: unknown): boolean {
  return error instanceof pg.DatabaseError && isRejection(error);
}
