import { Logger } from '@nestjs/common';
import pg from 'pg';
import { withinTime } from '../util/timing.js';
import { ColumnQuery, type QueryValue } from './column-query.js';
import { logWarnings, parseDatabaseUrl } from './database-url.js';
import {
  CANCELLED,
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isRejection,
  READ_ONLY,
} from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, GRACE_MS, type UrlDatabaseOptions } from './database.options.js';
import { dropIdle, endDead } from './dead-connections.js';
import { giveUp } from './pg-client.js';

/** Idle time of a connection before TCP keep-alive. Node.js then probes every second, and ends the connection after ten probes without an answer. */
const KEEP_ALIVE_DELAY_MS = 5000;
/** A connection that no statement needed for so long goes back to the pool, which closes it ten seconds later. */
const SPARE_MS = 1000;

/** Sends a statement on a connection, and calls back with the answer. */
type Send<Result> = (client: pg.PoolClient, done: (error: Error | null | undefined, result: Result) => void) => void;

/**
 * A pg pool whose errors tell, by their class, whether a failed statement was ever sent: if it was not, the client can be
 * promised that nothing was written. A caller waits for a connection and the answer no longer than the time limit. The connection
 * stays in use until the server has answered or the connection is known to be dead, so that there are no more sessions than
 * connections in the pool.
 */
export class ConnectionPool extends pg.Pool {
  readonly schema: string;
  readonly timeout: number;
  private readonly logger = new Logger(ConnectionPool.name);
  private acquired = 0;
  /** Connections that are kept for the next statement: to the pool itself they are in use. */
  readonly spare: pg.PoolClient[] = [];
  /** So many of them were not needed since the timer began. */
  private unneeded = 0;
  private spareTimer: NodeJS.Timeout | undefined;
  /** Their server has not waited for its synchronous standby. */
  private readonly unsynced = new Set<pg.ClientBase>();
  /** In use by a statement that was not answered within the time limit. Its caller does not wait any more. */
  private readonly overdue = new Set<pg.PoolClient>();
  private inspection: Promise<void> | undefined;
  /** Names statements by their text, so that PostgreSQL parses and plans each once on a connection. Their number is small and fixed. */
  private readonly names: Map<string, string> | undefined;

  constructor(options: UrlDatabaseOptions) {
    const { size = DEFAULT_POOL_SIZE, timeout = DEFAULT_STORAGE_TIMEOUT } = options;
    const database = parseDatabaseUrl(options.url, options.password, options.schema);
    super({
      connectionString: database.connectionString,
      max: size,
      connectionTimeoutMillis: timeout,
      // PgBouncer refuses it, by default.
      ...(!database.isPooled && { statement_timeout: timeout }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
      application_name: 'plant-store',
    });
    logWarnings(database);
    this.schema = database.schema;
    if (database.keepsStatements) this.names = new Map();
    this.timeout = timeout;
    this.on('connect', (client) => {
      this.watch(client);
    });
    this.on('acquire', () => (this.acquired += 1));
    this.on('release', () => (this.acquired -= 1));
    // The pool replaces an idle connection that the server closes. When the pool ends, the server may be faster: that does no harm.
    this.on('error', (error) => {
      if (!this.ending) this.logger.warn(`An idle database connection was lost: ${error.message}`);
    });
  }

  get inUse(): number {
    return this.acquired - this.spare.length;
  }

  /** Whether every connection is in use. Those that are just being made do not count: they wait for the database as well. */
  isBusy(): boolean {
    return this.inUse >= this.options.max;
  }

  /** The name under which a connection keeps this statement; empty if it does not keep it. */
  nameOf(sql: string): string {
    if (!this.names) return '';
    let name = this.names.get(sql);
    if (name === undefined) this.names.set(sql, (name = `plant_store_${this.names.size + 1}`));
    return name;
  }

  /** A statement calls it if no connection is at hand; metrics are attached around it. */
  override async connect(): Promise<pg.PoolClient> {
    const spare = this.takeSpare();
    if (spare) return spare;
    // Now, and not when the time is up: a connection may just be replaced at that moment.
    const waits = this.isBusy();
    const connecting = super.connect();
    try {
      return await withinTime(connecting, this.timeout, () => this.timeUp());
    } catch (cause) {
      // One that comes late is free for others.
      connecting.then(
        (client) => {
          client.release();
        },
        () => undefined,
      );
      throw waits || this.isBusy()
        ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no database connection could be made', { cause });
    }
  }

  // One for all of pg's signatures; Prisma's adapter calls it with a configuration alone.
  override query(statement: never): never {
    return this.run<pg.QueryResult>((client, done) => {
      client.query(statement, done);
    }) as never;
  }

  /** Runs a statement, and returns the first column of its rows, as texts. */
  queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]> {
    const name = this.nameOf(sql);
    return this.run((client, done) => {
      client.query(new ColumnQuery(name, sql, values, done) as object as pg.Submittable);
    });
  }

  override async end(): Promise<void> {
    for (const client of this.overdue) giveUp(client);
    clearTimeout(this.spareTimer);
    for (const client of this.spare.splice(0)) client.release();
    await super.end();
  }

  private run<Result>(send: Send<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.timeout + GRACE_MS;
      const start = (client: pg.PoolClient): void => {
        let released: (() => void) | undefined;
        const timer = setTimeout(() => {
          this.overdue.add(client);
          if (this.ending) giveUp(client);
          else this.inspection ??= endDead(this, this.overdue).finally(() => (this.inspection = undefined));
          const error = this.timeUp();
          error.released = new Promise<void>((done) => (released = done));
          reject(error);
        }, deadline - performance.now());
        send(client, (error, result) => {
          clearTimeout(timer);
          const failure = this.giveBack(client, error);
          if (failure) reject(failure);
          else resolve(result);
          released?.();
        });
      };
      const spare = this.takeSpare();
      if (spare) start(spare);
      else this.connect().then(start, reject);
    });
  }

  /** Takes a connection back from a statement, and returns why that failed. */
  private giveBack(client: pg.PoolClient, error: Error | null | undefined): Error | undefined {
    this.overdue.delete(client);
    const warning = this.unsynced.delete(client)
      ? new DatabaseTimeoutError('PostgreSQL did not wait for its synchronous standby')
      : undefined;
    const state = error && (error as pg.DatabaseError).code;
    // The server may not be the primary any more, and then the others do not lead there either.
    if (state === READ_ONLY) dropIdle(this);
    // The server may go on with what it has cancelled: Citus does if a node hangs. After any other rejection the connection is as good as before.
    const isGood =
      state !== READ_ONLY && state !== CANCELLED && error instanceof pg.DatabaseError && isRejection(error);
    if (error && !isGood) client.release(error);
    else if (warning || this.ending || this.waitingCount > 0) client.release(warning);
    else this.keepSpare(client);
    return error ?? warning;
  }

  private takeSpare(): pg.PoolClient | undefined {
    const client = this.spare.pop();
    if (this.spare.length < this.unneeded) this.unneeded = this.spare.length;
    return client;
  }

  /** To return a connection to the pool and to take it again costs a create as much as its SQL does. */
  private keepSpare(client: pg.PoolClient): void {
    this.spare.push(client);
    this.spareTimer ??= setTimeout(() => {
      for (const unneeded of this.spare.splice(0, this.unneeded)) unneeded.release();
      this.unneeded = this.spare.length;
      if (this.unneeded > 0) this.spareTimer?.refresh();
      else this.spareTimer = undefined;
    }, SPARE_MS).unref();
  }

  private watch(client: pg.PoolClient): void {
    // PostgreSQL only warns if a wait for its synchronous standby was cancelled. Functions of the database can warn with this code too.
    client.on('notice', ({ code, routine }) => {
      if (code === '01000' && routine === 'SyncRepWaitForLSN') this.unsynced.add(client);
    });
    // A lost connection also fails what waits for it.
    client.on('error', (error) => {
      const index = this.spare.indexOf(client);
      if (index === -1) return;
      this.spare.splice(index, 1);
      client.release(error);
      this.emit('error', error, client);
    });
  }

  private timeUp(): DatabaseTimeoutError {
    return new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
  }
}
