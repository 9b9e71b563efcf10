import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { ColumnQuery, type QueryValue } from './column-query.js';
import { logWarnings, parseDatabaseUrl } from './database-url.js';
import { DatabaseOverloadedError, DatabaseUnreachableError } from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, type UrlDatabaseOptions } from './database.options.js';
import { BorrowedConnection, Database, type Done, type QueryResult, type QueryConfig, unsynced } from './database.js';

/** Idle time before TCP keep-alive. Node.js then sends ten probes, one each second, and closes a dead connection. */
const KEEP_ALIVE_DELAY_MS = 5000;

/** Opens the connections of the store. */
export class UrlDatabase extends Database implements OnApplicationShutdown {
  readonly schema: string;
  readonly timeout: number;
  readonly connections: number;
  connectionsInUse = 0;
  private readonly pool: pg.Pool;
  /**
   * The names of prepared statements by text. A connection parses each statement once. Their number is small and fixed.
   */
  private readonly names: Map<string, string> | undefined;

  constructor({ size = DEFAULT_POOL_SIZE, timeout = DEFAULT_STORAGE_TIMEOUT, ...options }: UrlDatabaseOptions) {
    super();
    const url = parseDatabaseUrl(options.url, options.password, options.schema);
    logWarnings(url);
    this.schema = url.schema;
    this.timeout = timeout;
    this.connections = size;
    if (!url.isPooled) this.names = new Map();
    this.pool = new pg.Pool({
      application_name: 'plant-store',
      ...url.config,
      max: size,
      connectionTimeoutMillis: timeout,
      // PgBouncer refuses this setting by default.
      ...(!url.isPooled && { statement_timeout: timeout }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    });
    this.pool.on('connect', (client) => {
      // A lost connection fails its statements too. Without a listener, the event would end the process.
      client.on('error', () => undefined);
      client.on('notice', ({ code, routine }) => {
        // The routine matters, because functions can warn with this code too.
        if (code === '01000' && routine === 'SyncRepWaitForLSN') unsynced.add(client);
      });
    });
    this.pool.on('acquire', () => (this.connectionsInUse += 1));
    this.pool.on('release', () => (this.connectionsInUse -= 1));
    // The pool replaces idle connections that the server closes. While the pool ends, such an event does no harm.
    this.pool.on('error', ({ message }) => {
      if (!this.pool.ending) new Logger(UrlDatabase.name).warn(`An idle database connection was lost: ${message}`);
    });
  }

  /** New connections do not count while they are being opened: they wait for the database too. */
  isBusy(): boolean {
    return this.connectionsInUse >= this.connections;
  }

  /** The `query` of the pool is not used: its rejection does not say whether anything was sent. */
  connect(): Promise<BorrowedConnection> {
    const since = performance.now();
    // The answer counts at the beginning of the wait: later a connection may just be replaced.
    const waits = this.isBusy();
    return new Promise((resolve, reject) => {
      this.pool.connect((cause, client) => {
        this.connectionWaits?.observeSince(since);
        // The limit of the pool counts once in the queue and again for a new connection.
        if (client && performance.now() - since < this.timeout) {
          resolve(new BorrowedConnection(client, this.timeout));
          return;
        }
        client?.release();
        reject(
          waits || this.isBusy()
            ? new DatabaseOverloadedError('every database connection stayed busy', { cause })
            : new DatabaseUnreachableError('no database connection could be made', { cause }),
        );
      });
    });
  }

  execute(statement: QueryConfig): Promise<QueryResult> {
    const named = { ...statement, name: this.nameOf(statement.text) };
    return this.run<QueryResult>((client, done) => {
      client.query(named, done);
    });
  }

  queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]> {
    const name = this.nameOf(sql);
    return this.run((client, done) => {
      client.query(new ColumnQuery(name, sql, values, done) as object as pg.Submittable);
    });
  }

  /** Nest runs `onModuleDestroy` before the requests in flight are answered, so this hook comes later. */
  async onApplicationShutdown(): Promise<void> {
    // An application may be closed twice, but pg refuses the second end.
    if (!this.pool.ending) await this.pool.end();
  }

  private async run<Answer>(send: (client: pg.PoolClient, done: Done<Answer>) => void): Promise<Answer> {
    const deadline = performance.now() + this.timeout;
    const connection = await this.connect();
    const answer = connection.send<Answer>(deadline, (done) => {
      send(connection.client as pg.PoolClient, done);
    });
    connection.release();
    return answer;
  }

  /** The name of a prepared statement; empty behind a pooler. */
  private nameOf(sql: string): string {
    let name = this.names?.get(sql) ?? '';
    if (name === '' && this.names) this.names.set(sql, (name = `plant_store_${this.names.size + 1}`));
    return name;
  }
}
