import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { withTimeout } from '../util/timing.js';
import type { Query } from './connection.js';
import { logWarnings, parseDatabaseUrl } from './database-url.js';
import {
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  SettingsDroppedError,
} from './database.errors.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, type UrlDatabaseOptions } from './database.options.js';
import { type Loan, type QueryConfig, type QueryResult, StoreClient, watch } from './store-client.js';

/** Idle time before TCP keep-alive. Node.js then sends ten probes, one each second, and closes a dead connection. */
const KEEP_ALIVE_DELAY_MS = 5000;

/**
 * What the store relies on in a session. A role, a database, PGOPTIONS or the URL may have set anything else, which would
 * change what is stored or answered. A commit that also waits for its standby to apply it stays so.
 */
const SETTINGS = {
  synchronous_commit: `CASE current_setting('synchronous_commit'::text) WHEN 'remote_apply'::text THEN 'remote_apply'::text ELSE 'on'::text END`,
  default_transaction_isolation: `'read committed'::text`,
  lock_timeout: `'0'::text`,
  // Without this, NULL in a list would become the text NULL.
  array_nulls: `'on'::text`,
  // The warning of a commit without its standby has to arrive.
  client_min_messages: `'notice'::text`,
  TimeZone: `'UTC'::text`,
  DateStyle: `'ISO, MDY'::text`,
  extra_float_digits: `'1'::text`,
};

/** In milliseconds. A pooler may have dropped it, so that it would also drop the other settings. */
const STATEMENT_LIMIT = `(SELECT setting FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'::text) AS limit`;

/** Makes the settings for the session, or for the transaction alone. */
function settingsSql(isLocal: boolean): string {
  const calls = Object.entries(SETTINGS).map(([name, value]) => `set_config('${name}'::text, ${value}, ${isLocal})`);
  return `SELECT ${calls.join(', ')}`;
}

/**
 * The connections of a store, for Prisma's adapter. A statement has one time limit for the wait and the answer. The
 * class of an error says whether it was sent. With a `DatabaseUnreachableError` or a `DatabaseOverloadedError` it was
 * not. If PostgreSQL rejected it, the error is that of pg. After any other error the outcome is unknown.
 */
export abstract class StorePool extends pg.Pool {
  abstract readonly schema: string;
  /** The most connections; Infinity if it is unknown. */
  abstract readonly size: number;
  connectionsInUse = 0;
  /** Observes each wait for a connection, also one that failed. Metrics set it. */
  observeWait: (milliseconds: number) => void = () => undefined;

  /** @param timeout milliseconds to wait for a connection and an answer together */
  protected constructor(
    config: pg.PoolConfig,
    readonly timeout: number,
    /** Whether a session keeps its settings and prepared statements for the next transaction of the store. */
    readonly keepsSessions: boolean,
  ) {
    super(config);
  }

  /** Whether every connection is in use, as far as the store knows. */
  abstract isBusy(): boolean;

  /** Borrows a client that is watched. */
  protected async borrow(): Promise<Loan> {
    const client = await super.connect();
    return {
      client,
      // The promises of pg keep each statement in memory until the next major collection of garbage.
      send: (statement) =>
        new Promise((resolve, reject) => {
          client.query(statement as pg.QueryConfig, (error: Error | undefined, result: QueryResult) => {
            if (error) reject(error);
            else resolve(result);
          });
        }),
    };
  }

  /** Lends a client, for a transaction. Each of its statements has the time limit for itself. */
  override connect(): Promise<StoreClient & pg.PoolClient> {
    return this.lend(performance.now() + this.timeout) as Promise<StoreClient & pg.PoolClient>;
  }

  private async lend(deadline: number): Promise<StoreClient> {
    const since = performance.now();
    // This is asked before the wait: at its end, a connection may just be replaced.
    const waits = this.isBusy();
    const borrowing = this.borrow().then((loan) => {
      this.connectionsInUse += 1;
      return new StoreClient(loan, this.timeout, this.beginSql(deadline), () => {
        this.connectionsInUse -= 1;
      });
    });
    try {
      const timeUp = (): Error => new DatabaseTimeoutError(`no connection came within ${this.timeout} ms`);
      return await withTimeout(borrowing, deadline - since, timeUp);
    } catch (cause) {
      borrowing.then(
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

  /** Runs one statement on any connection, for Prisma. It returns a promise: `never` fits all forms of pg's own `query`. */
  override query(statement: QueryConfig | string | object): never {
    return this.run(statement as QueryConfig) as never;
  }

  /** The same without Prisma, for what comes before or beside a create. Names of tables must be qualified. */
  readonly execute: Query = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await this.run({ text, values })).rows as Row[];

  private async run(statement: QueryConfig): Promise<QueryResult> {
    const deadline = performance.now() + this.timeout;
    const client = await this.lend(deadline);
    if (this.keepsSessions) {
      const answer = client.query(statement, deadline);
      client.release();
      return answer;
    }
    try {
      await client.query('BEGIN', deadline).catch((cause: unknown) => {
        throw new DatabaseUnreachableError('no transaction could be begun', { cause });
      });
      const result = await client.query(statement, deadline);
      await client.query('COMMIT', deadline);
      return result;
    } catch (error) {
      client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }

  /** Where a session is not kept, a transaction makes its settings itself, and the session is returned unchanged. */
  private beginSql(deadline: number): string {
    if (this.keepsSessions) return 'BEGIN';
    const left = Math.max(1, Math.ceil(deadline - performance.now()));
    return `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${left}; ${settingsSql(true)}`;
  }
}

/** The store's own connections. */
export class UrlPool extends StorePool implements OnApplicationShutdown {
  readonly schema: string;

  constructor({
    size = DEFAULT_POOL_SIZE,
    timeout = DEFAULT_STORAGE_TIMEOUT,
    name = 'plant-store',
    ...options
  }: UrlDatabaseOptions & { name?: string }) {
    const url = parseDatabaseUrl(options.url, options.password, options.schema);
    logWarnings(url);
    const ofSession = {
      statement_timeout: timeout,
      onConnect: async (client: pg.ClientBase) => {
        const { rows } = await client.query<{ limit: string }>(`${settingsSql(false)}, ${STATEMENT_LIMIT}`);
        if (Number(rows[0]?.limit) !== timeout) throw new SettingsDroppedError();
      },
    };
    const config = {
      application_name: name,
      ...url.config,
      max: size,
      connectionTimeoutMillis: timeout,
      // PgBouncer refuses the setting by default. So a pooler that the URL does not declare is noticed at the start.
      ...(!url.isPooled && ofSession),
      // An idle connection keeps no process that has nothing else to do.
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    };
    super(config, timeout, !url.isPooled);
    this.schema = url.schema;
    this.on('connect', (client) => {
      watch(client);
    });
    // The pool replaces idle connections that the server closes. While the pool ends, such an event does no harm.
    this.on('error', ({ message }) => {
      if (!this.ending) new Logger('Database').warn(`An idle database connection was lost: ${message}`);
    });
  }

  get size(): number {
    return this.options.max;
  }

  /** New connections do not count while they are being opened: they wait for the database too. */
  isBusy(): boolean {
    return this.connectionsInUse >= this.size;
  }

  /** Nest runs `onModuleDestroy` before the requests in flight are answered, so this hook comes later. */
  async onApplicationShutdown(): Promise<void> {
    // An application may be closed twice, but pg refuses the second end.
    if (!this.ending) await this.end();
  }
}
