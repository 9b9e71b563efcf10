import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlResultSet } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import type { QueryValue } from './column-query.js';
import { ConnectionPool } from './connection-pool.js';
import { DEFAULT_SCHEMA } from './database-url.js';
import { sqlStateOf } from './database.errors.js';
import { type DatabaseOptions, DEFAULT_STORAGE_TIMEOUT, GRACE_MS, hasUrl } from './database.options.js';
import { PrismaClient } from './generated/client.js';
import { transactional } from './host-adapter.js';
import { HostPool } from './host-pool.js';
import { escapeSchema, overPool } from './prisma-adapter.js';

/** Runs one statement, on whichever connection there is. */
export type Query = <Row>(sql: string, values?: QueryValue[]) => Promise<Row[]>;

/** What a pool of ours does now. Without the types of pg, which would reach the declarations that a host compiles. */
export interface PoolStatistics {
  readonly inUse: number;
  connect: () => Promise<unknown>;
}

const TEXT = { scalarType: 'string', arity: 'scalar' } as const;
const TEXTS = { scalarType: 'string', arity: 'list' } as const;

/** SQLSTATEs of a server that lacks resources, such as room on the disk, or has trouble with its files. */
const OUT_OF_RESOURCES = /^(?:53(?!300)|58|XX)/;

/** The database that holds the plants, whether the store connects to it by itself or borrows connections from the host. */
export class Database implements OnApplicationShutdown {
  /** Whether a statement has failed for lack of resources. The probe that finds enough resources again resets it. */
  isShort = false;

  private constructor(
    /** The schema that holds the tables. */
    readonly schema: string,
    /** Milliseconds to wait for a connection and the answer to a statement, both together. */
    readonly timeout: number,
    /** The maximum number of connections, as far as that is known. */
    readonly connections: number,
    private readonly adapter: SqlDriverAdapter,
    /** Whether all connections are in use, as far as that is known. */
    readonly isBusy: () => boolean,
    /** Undefined if connections are borrowed from the host. */
    readonly pool?: PoolStatistics,
  ) {}

  /** Connects to nothing yet. Rejects if the options can't be used. */
  static async open(options: DatabaseOptions): Promise<Database> {
    if (hasUrl(options)) {
      const pool = new ConnectionPool(options);
      const names = { statementNameGenerator: ({ sql }: { sql: string }) => pool.nameOf(sql) };
      const factory = new PrismaPg({}, { schema: escapeSchema(pool.schema), disposeExternalPool: true, ...names });
      const adapter = await overPool(factory, pool).connect();
      return new Database(pool.schema, pool.timeout, pool.options.max, adapter, () => pool.isBusy(), pool);
    }
    const { pool: borrowed, schema = DEFAULT_SCHEMA, timeout = DEFAULT_STORAGE_TIMEOUT } = options;
    const pool = new HostPool(borrowed, timeout + GRACE_MS);
    const isBusy = (): boolean => pool.isBusy();
    const inner = await overPool(new PrismaPg({}, { schema: escapeSchema(schema) }), pool).connect();
    return new Database(schema, timeout, pool.max, transactional(inner, timeout, isBusy), isBusy);
  }

  /** For a Prisma client. */
  get adapterFactory(): SqlDriverAdapterFactory {
    const { adapter } = this;
    const { provider, adapterName } = adapter;
    return { provider, adapterName, connect: () => Promise.resolve(adapter) };
  }

  /** Runs one statement. The tables' names have to be qualified: the connection may have any `search_path`. */
  readonly query: Query = async <Row>(sql: string, values: QueryValue[] = []): Promise<Row[]> => {
    const { columnNames, rows } = await this.send(sql, values).catch(this.noteShortage);
    return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])) as Row);
  };

  /** Runs one statement, and returns the first column of its rows, as texts. With our own pool it does not use Prisma's adapter. */
  async queryColumn(sql: string, values: QueryValue[]): Promise<string[]> {
    try {
      if (this.pool instanceof ConnectionPool) return await this.pool.queryColumn(sql, values);
      return (await this.send(sql, values)).rows.map(([value]) => String(value));
    } catch (error) {
      // For the log, which has the causes of a failure: the server's code, detail and hint.
      if (error instanceof pg.DatabaseError) error.cause ??= Object.assign({}, error);
      return this.noteShortage(error);
    }
  }

  private async send(sql: string, values: QueryValue[]): Promise<SqlResultSet> {
    const argTypes = values.map((value) => (Array.isArray(value) ? TEXTS : TEXT));
    const query = { sql, args: values, argTypes };
    try {
      return await this.adapter.queryRaw(query);
    } finally {
      // Prisma keeps the last hundred queries for a report of its own: with a megabyte of values each, they would fill the memory.
      query.args = [];
    }
  }

  private readonly noteShortage = (error: unknown): never => {
    this.isShort ||= OUT_OF_RESOURCES.test(sqlStateOf(error) ?? '');
    throw error;
  };

  /**
   * Closes what was opened for the store, and nothing of the host's. Not in `onModuleDestroy`, which Nest runs before the requests in
   * flight are answered. Prisma's client is not disconnected: it would dispose of the adapter too, which is possible only once.
   */
  onApplicationShutdown(): Promise<void> {
    return this.adapter.dispose();
  }
}

@Injectable()
export class PrismaService extends PrismaClient {
  constructor(database: Database) {
    super({ adapter: database.adapterFactory });
  }
}
