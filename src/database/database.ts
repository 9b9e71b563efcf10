import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { ConnectionPool } from './connection-pool.js';
import {
  type AdapterDatabaseOptions,
  type DatabaseOptions,
  DEFAULT_TIMEOUT,
  GRACE_MS,
  type PoolDatabaseOptions,
  type UrlDatabaseOptions,
} from './database.options.js';
import { DEFAULT_SCHEMA } from './database-url.js';
import { GuardedAdapter } from './host-adapter.js';
import { LentPool } from './host-pool.js';
import { statementNames, escapeSchema, overPool } from './prisma-adapter.js';
import type { Query, QueryValue } from './migrations/migration-status.js';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaClient } from './generated/client.js';

const TEXT = { scalarType: 'string', arity: 'scalar' } as const;
const TEXTS = { scalarType: 'string', arity: 'list' } as const;

/** The database that the store keeps its plants in, by whichever way it is reached. */
export class Database {
  private constructor(
    /** The schema that holds the tables. */
    readonly schema: string,
    /** Milliseconds to wait for a connection and the answer to a statement, both together. */
    readonly timeout: number,
    /** The most connections that there are, as far as that is known. */
    readonly connections: number,
    private readonly adapter: SqlDriverAdapter,
    private readonly pool?: ConnectionPool,
  ) {}

  /** Connects to nothing yet. Rejects where the options can't be used. */
  static async open(options: DatabaseOptions): Promise<Database> {
    if (options.url !== undefined) return Database.ofUrl(options);
    return options.pool === undefined ? Database.ofAdapter(options) : Database.ofPool(options);
  }

  private static async ofUrl(options: UrlDatabaseOptions): Promise<Database> {
    const pool = new ConnectionPool(options);
    const names = pool.keepsStatements && { statementNameGenerator: statementNames() };
    const factory = new PrismaPg({}, { schema: escapeSchema(pool.schema), ...names });
    const adapter = await overPool(factory, pool).connect();
    return new Database(pool.schema, pool.timeout, pool.options.max, adapter, pool);
  }

  private static async ofPool(options: PoolDatabaseOptions): Promise<Database> {
    const { pool, schema = DEFAULT_SCHEMA, timeout = DEFAULT_TIMEOUT } = options;
    const adapter = await overPool(new PrismaPg({}), new LentPool(pool, timeout, timeout + GRACE_MS)).connect();
    return new Database(schema, timeout, pool.options?.max ?? Infinity, new GuardedAdapter(adapter, schema, timeout));
  }

  private static async ofAdapter(options: AdapterDatabaseOptions): Promise<Database> {
    const { adapter: factory, timeout = DEFAULT_TIMEOUT } = options;
    const adapter = await factory.connect();
    const schema = adapter.getConnectionInfo?.().schemaName ?? DEFAULT_SCHEMA;
    return new Database(schema, timeout, Infinity, new GuardedAdapter(adapter, schema, timeout));
  }

  /** For a Prisma client. */
  get adapterFactory(): SqlDriverAdapterFactory {
    const { adapter } = this;
    const { provider, adapterName } = adapter;
    return { provider, adapterName, connect: () => Promise.resolve(adapter) };
  }

  /** Runs one statement. The tables' names have to be qualified: the connection may have any `search_path`. */
  readonly query: Query = async <Row>(sql: string, values: QueryValue[] = []): Promise<Row[]> => {
    const argTypes = values.map((value) => (Array.isArray(value) ? TEXTS : TEXT));
    const { columnNames, rows } = await this.adapter.queryRaw({ sql, args: values, argTypes });
    return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])) as Row);
  };

  /** Closes what was opened for the store, and nothing that was lent. */
  async close(): Promise<void> {
    await this.adapter.dispose();
    await this.pool?.end();
  }
}

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(private readonly database: Database) {
    super({ adapter: database.adapterFactory });
  }

  /** Here and not in `onModuleDestroy`, which Nest runs before the requests in flight are done. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
    await this.database.close();
  }
}
