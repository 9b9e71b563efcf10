import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Histogram } from '../util/histogram.js';
import { withinTime } from '../util/timing.js';
import { logWarnings, parseDatabaseUrl } from './database-url.js';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isRejection,
  READ_ONLY,
} from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, GRACE_MS, type UrlDatabaseOptions } from './database.options.js';
import { clientOf, giveUp, ignoreErrors, internalsOf } from './host-list.js';

/** Of an idle connection. Node.js then probes every second, and ends the connection after ten probes without an answer. */
const KEEP_ALIVE_DELAY_MS = 5000;
/** From one inspection of overdue connections to the next. */
const INSPECT_EVERY_MS = 1000;

const FIND_WORKING_SESSIONS = `SELECT pg_catalog.pg_backend_pid() AS own,
  ARRAY(SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = ANY($1::int[]) AND state <> 'idle') AS working`;

/**
 * A pg pool whose errors tell, by their class, whether a failed statement was ever sent: only if it was not can a client be
 * promised that nothing was written. A caller waits for a connection and the answer no longer than the time limit. The connection
 * stays in use until the server has answered or the connection is known to be dead, so that there are no more sessions than
 * connections in the pool.
 */
export class ConnectionPool extends pg.Pool {
  readonly schema: string;
  readonly keepsStatements: boolean;
  readonly timeout: number;
  inUse = 0;
  /** Statements that wait for a connection now: all are in use, or one is just being made. */
  waiting = 0;
  /** Seconds that each of them waited, in vain too. */
  readonly waitSeconds = Histogram.ofSeconds();
  private readonly logger = new Logger(ConnectionPool.name);
  /** In use by a statement that was not answered within the time limit. Its caller does not wait any more. */
  private readonly overdue = new Set<pg.PoolClient>();
  private isInspecting = false;

  constructor(options: UrlDatabaseOptions) {
    const { size = DEFAULT_POOL_SIZE, timeout = DEFAULT_STORAGE_TIMEOUT } = options;
    const database = parseDatabaseUrl(options.url, options.password, options.schema);
    super({
      connectionString: database.connectionString,
      Client: clientOf(database),
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
    this.keepsStatements = database.keepsStatements;
    this.timeout = timeout;
    this.on('connect', ignoreErrors);
    this.on('acquire', () => (this.inUse += 1));
    this.on('release', () => (this.inUse -= 1));
    // The pool replaces an idle connection that the server closes. At its own end the server may be faster, and none is missed.
    this.on('error', (error) => {
      if (!this.ending) this.logger.warn(`An idle database connection was lost: ${error.message}`);
    });
  }

  /** Whether every connection is in use. Those that are just being made do not count: they wait for the database as well. */
  isBusy(): boolean {
    return this.inUse >= this.options.max;
  }

  override async connect(): Promise<pg.PoolClient> {
    // Now, and not when the time is up: a connection may just be replaced at that moment.
    const waits = this.isBusy();
    const since = performance.now();
    this.waiting += 1;
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
    } finally {
      this.waiting -= 1;
      this.waitSeconds.observeSince(since);
    }
  }

  // One for all of pg's signatures; Prisma's adapter calls it with a configuration alone.
  override query(statement: never): never {
    return this.run(statement) as never;
  }

  override async end(): Promise<void> {
    for (const client of this.overdue) giveUp(client);
    await super.end();
  }

  private async run(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const deadline = performance.now() + this.timeout + GRACE_MS;
    const client = await this.connect();
    const sent = this.send(client, statement);
    return withinTime(sent, deadline - performance.now(), () => {
      this.overdue.add(client);
      if (this.ending) giveUp(client);
      else void this.inspect();
      const error = this.timeUp();
      error.released = sent.catch(() => undefined);
      return error;
    });
  }

  private async send(client: pg.PoolClient, statement: pg.QueryConfig): Promise<pg.QueryResult> {
    let failure: Error | undefined;
    const onNotice = ({ code, routine }: { code?: string | undefined; routine?: string | undefined }): void => {
      // PostgreSQL only warns where a wait for its synchronous standby was cancelled. Functions of the database can warn with this code too.
      if (code !== '01000' || routine !== 'SyncRepWaitForLSN') return;
      failure = new DatabaseTimeoutError('PostgreSQL did not wait for its synchronous standby');
    };
    client.on('notice', onNotice);
    try {
      const result = await client.query(statement);
      if (failure) throw failure;
      return result;
    } catch (error) {
      const { code } = error as pg.DatabaseError;
      // The server may not be the primary any more, and then the others do not lead there either.
      if (code === READ_ONLY) this.dropIdle();
      // After any other rejection the connection is as good as before.
      if (code === READ_ONLY || !(error instanceof pg.DatabaseError && isRejection(error))) failure = error as Error;
      throw error;
    } finally {
      client.off('notice', onNotice);
      this.overdue.delete(client);
      client.release(failure);
    }
  }

  private timeUp(): DatabaseTimeoutError {
    return new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
  }

  /** Ends overdue connections that are dead, until the others are answered. While the server cannot be asked, none counts as dead. */
  private async inspect(): Promise<void> {
    if (this.isInspecting) return;
    this.isInspecting = true;
    // They may have died unnoticed, and the inspection must not use one of them.
    this.dropIdle();
    let inspector: pg.PoolClient | undefined;
    while (this.overdue.size > 0) {
      try {
        // It keeps its place in the pool meanwhile; where none is free, it is one more.
        inspector ??= await (
          this.isBusy() ? new pg.Pool({ ...this.options, max: 1 }).on('connect', ignoreErrors) : this
        ).connect();
        if (!(await this.endDead(inspector))) break;
      } catch {
        inspector?.release(true);
        inspector = undefined;
      }
      if (this.overdue.size > 0) await sleep(INSPECT_EVERY_MS);
    }
    inspector?.release(true);
    this.isInspecting = false;
  }

  /**
   * A connection is dead if the server has no session for it, or an idle one: the statement did not arrive, or its answer was lost.
   * Returns false behind a pooler: there the sessions have other numbers than the clients know.
   */
  private async endDead(inspector: pg.PoolClient): Promise<boolean> {
    const asked = [...this.overdue];
    const pids = asked.map((client) => internalsOf(client).processID);
    const answer = inspector.query<{ own: number; working: number[] }>(FIND_WORKING_SESSIONS, [pids]);
    const [row] = (await withinTime(answer, this.timeout, () => this.timeUp())).rows;
    if (row?.own !== internalsOf(inspector).processID) return false;
    for (const [i, client] of asked.entries()) {
      if (row.working.includes(pids[i] ?? 0) || !this.overdue.delete(client)) continue;
      this.logger.warn('A database connection was lost without a sign; another one replaces it');
      giveUp(client);
    }
    return true;
  }

  private dropIdle(): void {
    for (let left = this.idleCount; left > 0; left--) {
      super.connect().then(
        (client) => {
          giveUp(client);
          client.release(true);
        },
        () => undefined,
      );
    }
  }
}
