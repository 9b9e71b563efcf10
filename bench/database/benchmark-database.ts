import { readFileSync } from 'node:fs';
import pg from 'pg';
import { FIRST_ID_PREFIX, IDS_OF_A_PREFIX } from '../measure/id-prefix.js';
import { ProcessTree } from '../measure/process-tree.js';

/** The database of one target, seen by a connection that is idle while it is measured. */
export class BenchmarkDatabase implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly client: pg.Client,
    /** PostgreSQL with all of its processes; empty where there is no /proc. */
    readonly processes: ProcessTree,
  ) {}

  static async open(url: string): Promise<BenchmarkDatabase> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new BenchmarkDatabase(url, client, new ProcessTree(parentOf(rows[0]?.pid ?? 0)));
  }

  /** As new. With a checkpoint, so that what one round has written costs the next one nothing. */
  async empty(): Promise<void> {
    await this.client.query('TRUNCATE plants');
    await this.client.query('CHECKPOINT');
  }

  /** Stores this many plants with the ids from 1 on. */
  async fill(count: number): Promise<void> {
    await this.client.query(
      "INSERT INTO plants (id, name, tag) SELECT id, 'Rose', 'flower' FROM generate_series(1, $1::bigint) AS id",
      [count],
    );
    await this.settle();
  }

  /** Does what PostgreSQL would do in the background during the next measurement. */
  async settle(): Promise<void> {
    await this.client.query('VACUUM ANALYZE plants');
    await this.client.query('CHECKPOINT');
  }

  /** The plants whose ids are of this run. */
  async countFrom(idPrefix: number): Promise<number> {
    const from = idPrefix * IDS_OF_A_PREFIX;
    const { rows } = await this.client.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM plants WHERE id >= $1 AND id < $2',
      [from, from + IDS_OF_A_PREFIX],
    );
    return rows[0]?.count ?? 0;
  }

  /**
   * How many plants runs have stored since the table was emptied, and how many transactions have written something since the server
   * was made. Those have numbers, given out one by one and known at once, where the counters of pg_stat_database arrive up to ten
   * seconds late; transactions that only read have none. Both in one statement, as the last creates of a run may still be on their way.
   */
  async progress(): Promise<{ plants: number; commits: number }> {
    const { rows } = await this.client.query<{ plants: number; commits: string }>(
      `SELECT count(*)::integer AS plants, pg_snapshot_xmax(pg_current_snapshot())::text AS commits
       FROM plants WHERE id >= $1`,
      [FIRST_ID_PREFIX * IDS_OF_A_PREFIX],
    );
    return { plants: rows[0]?.plants ?? 0, commits: Number(rows[0]?.commits) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
  }
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
