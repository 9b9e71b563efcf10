import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { MIGRATIONS } from '../../../src/prisma/migrations.js';
import { Migrator } from '../../../src/prisma/migrator.js';
import { until } from '../until.js';

/** A database of a test's own, on the server that the suites share. */
export interface TestDatabase {
  readonly url: string;
  /** Runs one statement; bigint comes back as text. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** Ends all other connections. */
  drop(): Promise<void>;
}

export async function createTestDatabase({ migrated = true }: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const name = databaseName(randomBytes(6).toString('hex'));
  await onServer(async (server) => {
    const template = migrated ? await migratedTemplate(server) : 'template1';
    // Copying pages through the log takes four times as long. Before PostgreSQL 15 there is no such choice.
    const { rows } = await server.query<{ number: string }>(`SELECT current_setting('server_version_num') AS number`);
    const strategy = Number(rows[0]?.number) >= 150_000 ? 'STRATEGY file_copy' : '';
    await server.query(`CREATE DATABASE "${name}" TEMPLATE "${template}" ${strategy}`);
  });
  const url = databaseUrl(name);
  return {
    url,
    query: <Row>(sql: string, parameters: unknown[] = []) =>
      connected(url, async (client) => (await client.query(sql, parameters)).rows as Row[]),
    drop: () =>
      onServer((server) => server.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`).then(() => undefined)),
  };
}

/** Migrated once in a run, and copied for every test: a copy is many times faster. */
async function migratedTemplate(server: pg.Client): Promise<string> {
  const template = databaseName('template');
  // All of Jest's workers come here at once. The lock ends with the connection.
  await server.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
  const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [template]);
  if (rowCount === 0) {
    const draft = databaseName('draft');
    await server.query(`DROP DATABASE IF EXISTS "${draft}" WITH (FORCE)`);
    await server.query(`CREATE DATABASE "${draft}"`);
    await new Migrator({ url: databaseUrl(draft) }).migrate();
    await server.query(`ALTER DATABASE "${draft}" RENAME TO "${template}"`);
  }
  await server.query('SELECT pg_advisory_unlock(hashtext($1))', [template]);
  return template;
}

function onServer<T>(work: (server: pg.Client) => Promise<T>): Promise<T> {
  return connected(setting('TEST_DATABASE_URL'), work);
}

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function databaseName(what: string): string {
  return `${setting('TEST_DATABASE_PREFIX')}_${what}`;
}

function databaseUrl(name: string): string {
  const url = new URL(setting('TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  return url.href;
}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined)
    throw new Error(`${name} is not set: does Jest run with test/support/jest/global-setup.mjs?`);
  return value;
}

/** A connection that is kept, to look into a database hundreds of times. It does not wait for the disk: that would take longer than the tests. */
export type TestConnection = Pick<TestDatabase, 'query'> & { end(): Promise<void> };

export async function openTestConnection(url: string): Promise<TestConnection> {
  const client = new pg.Client(url);
  await client.connect();
  // Where a host has its tables, and else the usual place.
  await client.query('SET search_path TO plants, public; SET synchronous_commit TO off');
  const query = async <Row>(sql: string, parameters?: unknown[]): Promise<Row[]> =>
    (await client.query(sql, parameters)).rows as Row[];
  return { query, end: () => client.end() };
}

/**
 * Ends a pool whose database is dropped next. pg does not wait until its sessions have ended, so the drop may end one
 * before, and the pool would emit that to no listener.
 */
export async function endPool(pool: pg.Pool): Promise<void> {
  pool.on('error', () => undefined);
  await pool.end();
}

// Databases made from one template have the same number for a table, and this view shows them all.
const WAITING = `FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
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
    await until(async () => (await this.client.query(`SELECT ${WAITING}`, [this.table])).rowCount === statements);
  }

  async release(): Promise<void> {
    await this.client.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/** The migrations of this build, oldest first. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map(({ name }) => name);
