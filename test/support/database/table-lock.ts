import pg from 'pg';
import { until } from '../until.js';
import type { TestDatabase } from './test-database.js';

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

  /** Ends the sessions that wait for the lock, as an administrator would. */
  async terminateWaiting(): Promise<void> {
    await this.client.query(`SELECT pg_terminate_backend(pid) ${WAITING}`, [this.table]);
  }

  async release(): Promise<void> {
    await this.client.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
