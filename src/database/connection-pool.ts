import { Logger } from '@nestjs/common';
import pg from 'pg';
import { ConnectionPoolExhaustedError, DatabaseUnreachableError } from './connection-pool.error.js';
import { parseDatabaseUrl } from './database-url.js';

export interface ConnectionPoolOptions {
  /** PostgreSQL URL; `sslmode` and `schema` as parameters. */
  url: string;
  /** The password, where the URL has none. */
  password?: string | undefined;
  /** The most connections that are open at a time. */
  size: number;
  /** Milliseconds to wait for a connection, and again for the answer to a statement. */
  timeout: number;
}

/** Lets the server's own statement timeout come first: it keeps the connection, ours gives it up. */
const GRACE_MS = 250;

/**
 * A pg pool that tells apart, by the class of the error, whether a failed statement was ever sent: only then can a
 * client be promised that nothing was written.
 */
export class ConnectionPool extends pg.Pool {
  readonly schema: string;
  private readonly logger = new Logger(ConnectionPool.name);
  private inUse = 0;

  constructor({ url, password, size, timeout }: ConnectionPoolOptions) {
    const { connectionString, schema } = parseDatabaseUrl(url, password);
    super({
      connectionString,
      max: size,
      connectionTimeoutMillis: timeout,
      statement_timeout: timeout,
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
    // An idle connection that the server closes is replaced when it is next needed; unheard, the event ends the process.
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
    if (callback === undefined) {
      return super.connect().catch((error: unknown) => {
        throw this.notSent(error);
      });
    }
    super.connect((error, client, release) => {
      if (client) keepWhenRejected(client);
      callback(error && this.notSent(error), client, release);
    });
  }

  private notSent(cause: unknown): Error {
    // Those that are just being made count for nothing: they wait for the database as well.
    return this.inUse >= this.options.max
      ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
      : new DatabaseUnreachableError('no database connection could be made', { cause });
  }
}

/** pg.Pool.query() gives up a connection for any error; one on which a statement was merely rejected is as good as before. */
function keepWhenRejected(client: pg.PoolClient): void {
  const release = client.release.bind(client);
  client.release = (error) => {
    release(error instanceof pg.DatabaseError && error.severity === 'ERROR' ? undefined : error);
  };
}

type ConnectCallback = Parameters<typeof pg.Pool.prototype.connect>[0];
