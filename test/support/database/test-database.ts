import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { until } from '../until.js';

/** A database of a test's own, on the server that the suites share. */
export interface TestDatabase {
  readonly url: string;
  /** Runs one statement; bigint comes back as text. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** Ends all other connections. */
  drop(): Promise<void>;
}

/** Copies the database that test/support/jest/global-setup.mjs has migrated, or an empty one. */
export async function createTestDatabase({ migrated = true }: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { TEST_DATABASE_URL: server = '', TEST_DATABASE_PREFIX: prefix = '' } = process.env;
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  const template = migrated ? `${prefix}_template` : 'template1';
  // Copying pages through the log takes four times as long.
  await query(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const { href: url } = Object.assign(new URL(server), { pathname: name });
  return {
    url,
    query: (sql, parameters) => query(url, sql, parameters),
    drop: async () => {
      await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Runs one statement on a connection of its own, whose server may be killed. */
export async function query<Row>(url: string, sql: string, parameters?: unknown[]): Promise<Row[]> {
  const client = new pg.Client(url).on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(sql, parameters)).rows as Row[];
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Ends a pool whose database is dropped next. The drop may end a session before pg does: nobody listens then. */
export async function endPool(pool: pg.Pool): Promise<void> {
  pool.on('error', () => undefined);
  await pool.end();
}

// Databases made from one template have the same number for a table, and this view shows them all.
const WAITING = `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
  WHERE relation = $1::regclass AND NOT granted`;

/** Keeps everybody else from reading and writing a table, until it is released. */
export class TableLock implements AsyncDisposable {
  private constructor(
    private readonly client: pg.Client,
    private readonly table: string,
  ) {}

  static async take({ url }: TestDatabase, table = 'plants'): Promise<TableLock> {
    const client = new pg.Client(url);
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${table}`);
    return new TableLock(client, table);
  }

  /** Resolves when as many statements wait for the lock. */
  async awaited(statements = 1): Promise<void> {
    await until(async () => (await this.client.query(WAITING, [this.table])).rowCount === statements);
  }

  release(): Promise<void> {
    return this.client.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
