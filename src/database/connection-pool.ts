import { Logger } from '@nestjs/common';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { withinTime } from '../util/timing.js';
import { parseDatabaseUrl } from './database-url.js';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isRejection,
  READ_ONLY,
} from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_TIMEOUT, GRACE_MS, type UrlDatabaseOptions } from './database.options.js';

/** Of an idle connection. Node.js then probes every second, and ends the connection after ten probes without an answer. */
const KEEP_ALIVE_DELAY_MS = 5000;
/** From one inspection of overdue connections to the next. */
const INSPECT_EVERY_MS = 1000;

/** What is answered with 200 is on disk, whatever the server's or the role's default; on the standby, where that is the default. */
const COMMIT_DURABLY = `SELECT set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`;
const FIND_WORKING_SESSIONS = `SELECT pg_backend_pid() AS own,
  ARRAY(SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::int[]) AND state <> 'idle') AS working`;

/** What pg's types leave out of a client: the process of the server that works for it, and the socket. */
type Session = Readonly<{ processID: number; connection: { stream: Duplex } }>;

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
  private readonly logger = new Logger(ConnectionPool.name);
  private readonly opened = new Set<pg.PoolClient>();
  private readonly inUse = new Set<pg.PoolClient>();
  /** In use by a statement that was not answered within the time limit. Its caller does not wait any more. */
  private readonly overdue = new Set<pg.PoolClient>();
  /** The errors that connections in use have reported. */
  private readonly failures = new WeakMap<pg.PoolClient, Error>();
  private isInspecting = false;
  /** For an inspection while every connection is in use. */
  private readonly spare: pg.Pool;

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
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
      application_name: 'plant-store',
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- pg-pool awaits it; its types do not say so
      onConnect: async (client) => {
        if (isPooled) return;
        await withinTime(client.query(COMMIT_DURABLY), timeout, () => this.timeUp());
      },
    });
    this.schema = schema;
    this.keepsStatements = keepsStatements;
    this.timeout = timeout;
    this.spare = new pg.Pool({ ...this.options, max: 1 });
    this.spare.on('error', () => undefined);
    this.on('connect', (client) => {
      this.opened.add(client);
      client.on('error', (error) => this.failures.set(client, error));
    });
    this.on('remove', (client) => this.opened.delete(client));
    this.on('acquire', (client) => this.inUse.add(client));
    this.on('release', (_, client) => this.inUse.delete(client));
    // The pool replaces an idle connection that the server closes.
    this.on('error', (error, client) => {
      if (this.opened.has(client)) this.logger.warn(`An idle database connection was lost: ${error.message}`);
    });
  }

  /** Whether every connection is in use. Those that are just being made do not count: they wait for the database as well. */
  isBusy(): boolean {
    return this.inUse.size >= this.options.max;
  }

  override async connect(): Promise<pg.PoolClient> {
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
    return this.run(statement) as never;
  }

  override async end(): Promise<void> {
    const ended = super.end();
    for (const client of this.overdue) destroy(client);
    await ended;
    await this.spare.end();
  }

  private async run(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const deadline = performance.now() + this.timeout + GRACE_MS;
    const client = await this.connect();
    return withinTime(this.send(client, statement), deadline - performance.now(), () => {
      this.overdue.add(client);
      if (this.ending) destroy(client);
      else void this.inspect();
      return this.timeUp();
    });
  }

  private async send(client: pg.PoolClient, statement: pg.QueryConfig): Promise<pg.QueryResult> {
    let failure: Error | undefined;
    try {
      const result = await client.query(statement);
      const error = this.failures.get(client);
      if (error) throw error;
      return result;
    } catch (error) {
      const { code } = error as pg.DatabaseError;
      // The server may not be the primary any more, and then the others do not lead there either.
      if (code === READ_ONLY) this.destroyIdle();
      // After any other rejection the connection is as good as before.
      if (code === READ_ONLY || !(error instanceof pg.DatabaseError && isRejection(error))) failure = error as Error;
      throw error;
    } finally {
      this.overdue.delete(client);
      client.release(failure);
    }
  }

  private timeUp(): Error {
    return new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
  }

  /** Ends overdue connections that are dead, until the others are answered. While the server cannot be asked, none counts as dead. */
  private async inspect(): Promise<void> {
    if (this.isInspecting) return;
    this.isInspecting = true;
    // They may have died unnoticed, and the inspection must not use one of them.
    this.destroyIdle();
    let inspector: pg.PoolClient | undefined;
    while (this.overdue.size > 0) {
      try {
        // It keeps its place in the pool meanwhile.
        inspector ??= await (this.isBusy() ? this.spare : this).connect();
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
    const pids = asked.map((client) => sessionOf(client).processID);
    const answer = inspector.query<{ own: number; working: number[] }>(FIND_WORKING_SESSIONS, [pids]);
    const [row] = (await withinTime(answer, this.timeout, () => this.timeUp())).rows;
    if (row?.own !== sessionOf(inspector).processID) return false;
    for (const [i, client] of asked.entries()) {
      if (row.working.includes(pids[i] ?? 0) || !this.overdue.delete(client)) continue;
      this.logger.warn('A database connection was lost without a sign; another one replaces it');
      destroy(client);
    }
    return true;
  }

  private destroyIdle(): void {
    for (const client of this.opened) {
      if (this.inUse.has(client)) continue;
      this.opened.delete(client);
      destroy(client);
    }
  }
}

const sessionOf = (client: pg.PoolClient): Session => client as unknown as Session;

/** Ends a connection at once, in the midst of a statement too; its pool then removes it. */
function destroy(client: pg.PoolClient): void {
  sessionOf(client).connection.stream.destroy(new Error('the connection was given up'));
}
