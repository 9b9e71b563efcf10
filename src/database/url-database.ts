import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { ColumnQuery, type QueryValue } from './column-query.js';
import { logWarnings, parseDatabaseUrl } from './database-url.js';
import { DatabaseOverloadedError, DatabaseUnreachableError } from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, type UrlDatabaseOptions } from './database.options.js';
import { BorrowedConnection, Database, type Done, type QueryResult, type QueryConfig, unsynced } from './database.js';

/** Idle time of a connection before TCP keep-alive. Node.js then probes every second, and ends the connection after ten probes without an answer. */
const KEEP_ALIVE_DELAY_MS = 5000;

/** A database with a pool of the store's own. */
export class UrlDatabase extends Database implements OnApplicationShutdown {
  readonly schema: string;
  readonly timeout: number;
  readonly connections: number;
  connectionsInUse = 0;
  private readonly pool: pg.Pool;
  /** Names of statements by their text, so that a connection parses and plans each once. Their number is small and fixed. */
  private readonly names: Map<string, string> | undefined;

  /** Connects to nothing yet. */
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
      // PgBouncer refuses it, by default.
      ...(!url.isPooled && { statement_timeout: timeout }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    });
    this.pool.on('connect', (client) => {
      // A lost connection also fails what waits for it; without a listener, the event would end the process.
      client.on('error', () => undefined);
      client.on('notice', ({ code, routine }) => {
        // Functions of the database can warn with this code too.
        if (code === '01000' && routine === 'SyncRepWaitForLSN') unsynced.add(client);
      });
    });
    this.pool.on('acquire', () => (this.connectionsInUse += 1));
    this.pool.on('release', () => (this.connectionsInUse -= 1));
    // The pool replaces an idle connection that the server closes. When the pool ends, the server may be faster: that does no harm.
    this.pool.on('error', ({ message }) => {
      if (!this.pool.ending) new Logger(UrlDatabase.name).warn(`An idle database connection was lost: ${message}`);
    });
  }

  /** Connections that are just being made do not count: they wait for the database as well. */
  isBusy(): boolean {
    return this.connectionsInUse >= this.connections;
  }

  /** Never by the pool's own `query`, whose rejection does not say whether anything was sent. */
  connect(): Promise<BorrowedConnection> {
    const since = performance.now();
    // Asked now, and not when the time is up: a connection may just be replaced at that moment.
    const waits = this.isBusy();
    return new Promise((resolve, reject) => {
      this.pool.connect((cause, client) => {
        this.connectionWaits?.observeSince(since);
        // The pool's limit counts for its queue, and again for a new connection.
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

  /** Not in `onModuleDestroy`, which Nest runs before the requests in flight are answered. */
  async onApplicationShutdown(): Promise<void> {
    // An application may be closed twice, and pg refuses the second end.
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

  /** The name under which a connection keeps a statement; empty behind a pooler. */
  private nameOf(sql: string): string {
    let name = this.names?.get(sql) ?? '';
    if (name === '' && this.names) this.names.set(sql, (name = `plant_store_${this.names.size + 1}`));
    return name;
  }
}
