import pg from 'pg';
import type { TestDatabase } from './test-database.js';

/** A connection that is kept, to look into a database hundreds of times. */
export interface TestConnection {
  query: TestDatabase['query'];
  end(): Promise<void>;
}

/** Does not wait for the disk: that would take longer than the tests. */
export async function openTestConnection(url: string): Promise<TestConnection> {
  const client = new pg.Client(url);
  await client.connect();
  // Where a host has its tables, and else the usual place.
  await client.query('SET search_path TO plants, public; SET synchronous_commit TO off');
  const query = async <Row>(sql: string, parameters?: unknown[]): Promise<Row[]> =>
    (await client.query(sql, parameters)).rows as Row[];
  return { query, end: () => client.end() };
}
