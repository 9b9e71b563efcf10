import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { CANCEL_TIMEOUT_MS, requestCancel, withTimeout } from './connection.js';
import { parseDatabaseUrl, warnOfIgnored } from './database-url.js';
import {
  DatabaseLostError,
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isPreparedElsewhere,
  isRejection,
  leavesSessionUsable,
  SettingsDroppedError,
} from './database.errors.js';
import {
  DEFAULT_POOL_SIZE,
  DEFAULT_STORAGE_TIMEOUT,
  type PgClientLike,
  type UrlDatabaseOptions,
} from './database.options.js';

/** Idle time before TCP keep-alive. Node.js then sends ten probes, one each second, and closes a dead connection. */
const KEEP_ALIVE_DELAY_MS = 5000;
/** The statement timeout of the server comes first by this margin, because its answer says more than ours. */
const SERVER_TIMEOUT_MARGIN_MS = 250;
const NOT_OUR_SESSION =
  'a session is not the one that the store has set up. Declare a transaction pooler in the URL: ?pgbouncer=true';
const ignore = (): void => undefined;

/**
 * What the store relies on in a session. A role, a database, PGOPTIONS or the URL may have set anything else, which
 * would change what is stored or answered. A commit that also waits for its standby to apply it stays so.
 * `search_path` is not set: triggers of a host may need theirs. So SQL qualifies tables, and casts the arguments of
 * functions to exactly the types of PostgreSQL's own, which then win over those of a stranger (CVE-2018-1058).
 */
const SETTINGS = {
  synchronous_commit: `CASE current_setting('synchronous_commit'::text)
    WHEN 'remote_apply'::text THEN 'remote_apply'::text ELSE 'on'::text END`,
  default_transaction_isolation: `'read committed'::text`,
  lock_timeout: `'0'::text`,
  // Without this, NULL in a list would become the text NULL.
  array_nulls: `'on'::text`,
  TimeZone: `'UTC'::text`,
  DateStyle: `'ISO, MDY'::text`,
  extra_float_digits: `'1'::text`,
};

/** Makes the settings for the session, or for the transaction alone. */
function settingsSql(isLocal: boolean): string {
  const calls = Object.entries(SETTINGS).map(([name, value]) => `set_config('${name}'::text, ${value}, ${isLocal})`);
  return `SELECT ${calls.join(', ')}`;
}

// These are not the types of pg, which would become part of the declarations for hosts.

/** A statement in the form of pg. */
export interface QueryConfig {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** The answer of pg. */
export interface QueryResult {
  readonly rows: unknown[];
}

type VerifyAnswer = (rows: unknown[], sentAt: number) => void;

/**
 * Runs statements on the connections of a store, each by itself. A statement has one time limit for the wait and the
 * answer. The class of an error says whether it was sent: after a `NothingWrittenError` nothing was executed, an error
 * of pg is a rejection by PostgreSQL, and after any other error the outcome is unknown. The errors of the store have no
 * code, as Prisma would replace an error that has one.
 */
export abstract class StorePool {
  connectionsInUse = 0;
  /** Observes each wait for a connection, also one that failed. Metrics set it. */
  observeWait: (milliseconds: number) => void = () => undefined;

  protected constructor(
    readonly schema: string,
    /** The schema and its database for messages. */
    readonly schemaDescription: string,
    /** The maximum number of connections; Infinity if it is unknown. */
    readonly size: number,
    /** Milliseconds to wait for a connection and an answer together. */
    readonly timeout: number,
    /** Whether a session keeps its settings and prepared statements for the next statement of the store. */
    readonly keepsSessions: boolean,
    /** Milliseconds for an answer alone, if they are not what the wait for the connection has left of `timeout`. */
    private readonly answerTimeout?: number,
  ) {}

  /** Whether every connection is in use, as far as the store knows. */
  abstract isBusy(): boolean;
  /** Takes a connection out of the pool. */
  protected abstract take(): Promise<PgClientLike>;
  /** Sends a statement. Rejects with the error of `toStoreError()`. */
  protected abstract send(client: PgClientLike, statement: QueryConfig): Promise<QueryResult>;

  /**
   * Runs one statement without Prisma, for what comes before or beside a create. Names of tables must be qualified.
   * @param verify throws if the session cannot be used: then it is closed, and the next one may lead to another server.
   * It also gets the `performance.now()` at which the statement was sent, at the earliest
   */
  readonly execute = async <Row>(
    text: string,
    values: readonly unknown[] = [],
    verify?: (rows: Row[], sentAt: number) => void,
  ): Promise<Row[]> => (await this.query({ text, values }, verify as VerifyAnswer)).rows as Row[];

  /** Runs one statement. Prisma's adapter calls this, and the three methods after it. */
  async query(statement: QueryConfig, verify?: VerifyAnswer): Promise<QueryResult> {
    let deadline = performance.now() + this.timeout;
    const client = await this.acquire(deadline);
    const sentAt = performance.now();
    if (this.answerTimeout !== undefined) deadline = sentAt + this.answerTimeout;
    const answer = this.keepsSessions ? this.send(client, statement) : this.transact(client, statement, deadline);
    const limit = this.answerTimeout ?? this.timeout;
    const timeoutError = (): Error => new DatabaseTimeoutError(`the database did not answer within ${limit} ms`);
    try {
      const result = await withTimeout(answer, deadline + SERVER_TIMEOUT_MARGIN_MS - performance.now(), timeoutError);
      verify?.(result.rows, sentAt);
      this.giveBack(client);
      return result;
    } catch (error) {
      if (error instanceof DatabaseTimeoutError) void this.cancel(client, answer, error);
      else this.giveBack(client, leavesSessionUsable(error) ? undefined : (error as Error));
      throw error;
    }
  }

  /** Prisma would return a connection to the pool while its late statement still runs. */
  connect(): never {
    throw new Error('transactions of Prisma cannot be used on the connections of the store');
  }

  /** Prisma listens to errors of idle connections. The pool replaces those. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  private async acquire(deadline: number): Promise<PgClientLike> {
    const since = performance.now();
    // This is asked before the wait: at its end, a connection may just be replaced.
    const waits = this.isBusy();
    const taking = this.take();
    const timeoutError = (): Error => new Error(`no connection came within ${this.timeout} ms`);
    try {
      const client = await withTimeout(taking, deadline - since, timeoutError);
      if (performance.now() >= deadline) throw timeoutError();
      // A lost connection fails its statements too. Without a listener, the event would end the process.
      client.on('error', ignore);
      this.connectionsInUse += 1;
      return client;
    } catch (cause) {
      // On a late connection, a plant would be stored whose create was refused.
      taking.then(
        (client) => {
          client.release();
        },
        () => undefined,
      );
      // An error with a code comes from the server or the network, so a connection was free.
      throw (waits || this.isBusy()) && (cause as { code?: string }).code === undefined
        ? new DatabaseOverloadedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no database connection could be made', { cause });
    } finally {
      this.observeWait(performance.now() - since);
    }
  }

  private giveBack(client: PgClientLike, error?: Error): void {
    this.connectionsInUse -= 1;
    client.removeListener('error', ignore);
    // With an error the pool closes the connection, even during a statement.
    client.release(error);
  }

  /** A session that waits for a standby would survive its connection, and each new connection would add one. */
  private async cancel(client: PgClientLike, answer: Promise<unknown>, error: Error): Promise<void> {
    requestCancel(client);
    await withTimeout(answer, CANCEL_TIMEOUT_MS, () => error).catch(() => undefined);
    this.giveBack(client, error);
  }

  /** Where a session is not kept, a transaction makes its settings itself, and the session is returned unchanged. */
  private async transact(client: PgClientLike, statement: QueryConfig, deadline: number): Promise<QueryResult> {
    const left = Math.max(1, Math.ceil(deadline - performance.now()));
    const text = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${left}; ${settingsSql(true)}`;
    const timeoutError = (): Error => new DatabaseTimeoutError(`no transaction was begun within ${this.timeout} ms`);
    await withTimeout(this.send(client, { text }), left, timeoutError).catch((cause: unknown) => {
      throw new DatabaseUnreachableError('no transaction could be begun', { cause });
    });
    try {
      const result = await this.send(client, statement);
      await this.send(client, { text: 'COMMIT' });
      return result;
    } catch (error) {
      if (leavesSessionUsable(error)) await this.send(client, { text: 'ROLLBACK' });
      throw error;
    }
  }

  protected toStoreError(cause: unknown): Error {
    if (isPreparedElsewhere(cause)) return new DatabaseUnreachableError(NOT_OUR_SESSION, { cause });
    if (isRejection(cause)) return cause as Error;
    return new DatabaseLostError('the connection to the database was lost', { cause });
  }
}

/** Listens to a pool: an error of an idle connection would end the process. */
export function warnOfLostConnection({ message }: Error): void {
  new Logger('Database').warn(`An idle database connection was lost: ${message}`);
}

/** The store's own connections. */
export class UrlPool extends StorePool implements OnApplicationShutdown {
  private readonly pool: pg.Pool;

  constructor({
    size = DEFAULT_POOL_SIZE,
    timeout = DEFAULT_STORAGE_TIMEOUT,
    answerTimeout,
    name = 'plant-store',
    ...options
  }: UrlDatabaseOptions & { answerTimeout?: number; name?: string }) {
    const url = parseDatabaseUrl(options.url, options.password, options.schema);
    warnOfIgnored(url);
    super(url.schema, url.schemaDescription, size, timeout, !url.isBehindPooler, answerTimeout);
    const statementTimeout = answerTimeout ?? timeout;
    const limit = `(SELECT setting FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'::text) AS limit`;
    const ofSession = {
      statement_timeout: statementTimeout,
      onConnect: async (client: pg.ClientBase) => {
        const { rows } = await client.query<{ limit: string }>(`${settingsSql(false)}, ${limit}`);
        // A pooler that has dropped this setting would drop the others too.
        if (Number(rows[0]?.limit) !== statementTimeout) throw new SettingsDroppedError();
      },
    };
    this.pool = new pg.Pool({
      application_name: name,
      ...url.config,
      max: size,
      connectionTimeoutMillis: timeout,
      // PgBouncer refuses the setting by default. So a pooler that the URL does not declare is noticed at the start.
      ...(!url.isBehindPooler && ofSession),
      // An idle connection keeps no process that has nothing else to do.
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    });
    // The pool replaces idle connections that the server closes. While the pool ends, such an event does no harm.
    this.pool.on('error', (error) => {
      if (!this.pool.ending) warnOfLostConnection(error);
    });
  }

  /** New connections do not count while they are being opened: they wait for the database too. */
  isBusy(): boolean {
    return this.connectionsInUse >= this.size;
  }

  /** Nest runs `onModuleDestroy` before the requests in flight are answered, so this hook comes later. */
  async onApplicationShutdown(): Promise<void> {
    // An application may be closed twice, but pg refuses the second end.
    if (!this.pool.ending) await this.pool.end();
  }

  // The promises of pg cost more than its callbacks, and keep each statement in memory until the next major collection.

  protected take(): Promise<PgClientLike> {
    return new Promise((resolve, reject) => {
      this.pool.connect((error, client) => {
        if (client) resolve(client);
        else reject(error ?? new Error('pg gave no connection'));
      });
    });
  }

  protected send(client: PgClientLike, statement: QueryConfig): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      (client as pg.PoolClient).query(statement as pg.QueryConfig, (error: Error | undefined, result: QueryResult) => {
        if (error) reject(this.toStoreError(error));
        else resolve(result);
      });
    });
  }
}
