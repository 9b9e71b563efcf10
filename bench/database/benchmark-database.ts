import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { type IdOrder, IDS_OF_A_RUN } from '../load/ids.js';
import { ProcessTree } from '../measure/process-tree.js';

export interface DatabaseOptions {
  /** Of the plants that are stored, and created. */
  readonly ids?: IdOrder;
  /** URLs of all its servers; the first one is asked for the plants; only its own unless given. */
  readonly nodes?: readonly string[];
}

/** What has been done so far. The counts of transactions and bytes are of whole servers. */
export interface Progress {
  readonly plants: number;
  readonly commits: number;
  readonly walBytes: number;
}

/** What PostgreSQL counts for itself, of the table and its index. */
export interface TableStatistics {
  readonly inserts: number;
  /** Pages of the index that were not in shared buffers. */
  readonly indexReads: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

/** How full pages are. Those of an index that grew by random ids are so on average; the default is that of ascending ones. */
const FILL_FACTORS: Readonly<Record<IdOrder, number>> = { ascending: 90, random: 70 };

/** The database of one target, seen by a connection that is idle while it is measured. */
export class BenchmarkDatabase implements AsyncDisposable {
  private constructor(
    readonly url: string,
    readonly ids: IdOrder,
    private readonly client: pg.Client,
    private readonly otherNodes: readonly pg.Client[],
    /** PostgreSQL with all of its processes; empty if there is no /proc. */
    readonly processes: ProcessTree,
  ) {}

  static async open(
    url: string,
    { ids = 'ascending', nodes = [url] }: DatabaseOptions = {},
  ): Promise<BenchmarkDatabase> {
    const clients = nodes.map((node) => new pg.Client(node));
    const servers = [];
    for (const client of clients) {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      servers.push(parentOf(rows[0]?.pid ?? 0));
    }
    const [client, ...others] = clients as [pg.Client, ...pg.Client[]];
    // Counting plants is not to read the index, whose reads are reported.
    if (ids === 'random') await client.query('SET enable_indexonlyscan = off');
    return new BenchmarkDatabase(url, ids, client, others, new ProcessTree(...servers));
  }

  /** As new. With a checkpoint, so that what one round has written costs the next one nothing. */
  async empty(): Promise<void> {
    await this.client.query('TRUNCATE plants');
    await this.checkpoint();
  }

  /** Stores this many plants, with the ids from 1 on or with random ones. The index is made afterwards, which is much faster. */
  async fill(count: number): Promise<void> {
    const id = this.ids === 'random' ? 'hashint8extended(n, 0)' : 'n';
    await this.client.query('ALTER TABLE plants DROP CONSTRAINT plants_pkey');
    await this.client.query(
      `INSERT INTO plants (id, name, tag, created_by, write_id)
       SELECT ${id}, 'Rose', 'flower', 'benchmark', n FROM generate_series(1, $1::bigint) AS n`,
      [count],
    );
    const fillFactor = FILL_FACTORS[this.ids];
    await this.client.query(
      `ALTER TABLE plants ADD CONSTRAINT plants_pkey PRIMARY KEY (id) WITH (fillfactor = ${fillFactor})`,
    );
    await this.settle();
  }

  /** Does what PostgreSQL would do in the background during the next measurement. */
  async settle(): Promise<void> {
    await this.client.query('VACUUM ANALYZE plants');
    await this.checkpoint();
  }

  /**
   * How many plants a run has stored (if ids are random: how many are stored), and how many transactions have written something
   * since the server was made. Those have numbers, given out one by one and known at once, while the counters of pg_stat_database arrive
   * up to ten seconds late; transactions that only read have none.
   */
  async progress(firstId: number): Promise<Progress> {
    const ofRun = this.ids === 'random' ? '' : `WHERE id >= ${firstId} AND id < ${firstId + IDS_OF_A_RUN}`;
    const plants = `(SELECT count(*)::integer FROM plants ${ofRun})`;
    const counts = [await counted(this.client, plants)];
    for (const node of this.otherNodes) counts.push(await counted(node, '0'));
    const sum = (name: keyof Progress): number => counts.reduce((total, count) => total + count[name], 0);
    return { plants: sum('plants'), commits: sum('commits'), walBytes: sum('walBytes') };
  }

  /** Sessions report at their end at the latest: waits until no other is left. */
  async statistics(): Promise<TableStatistics> {
    while (await this.isInUse()) await setTimeout(50);
    const { rows } = await this.client.query<TableStatistics>(
      `SELECT n_tup_ins::float8 AS inserts, idx_blks_read::float8 AS "indexReads",
         pg_table_size(relid)::float8 AS "tableBytes", pg_indexes_size(relid)::float8 AS "indexBytes"
       FROM pg_stat_user_tables JOIN pg_statio_user_tables USING (relid) WHERE relid = 'plants'::regclass`,
    );
    if (!rows[0]) throw new Error('PostgreSQL has no statistics of the table plants');
    return rows[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of [this.client, ...this.otherNodes]) await client.end();
  }

  private async isInUse(): Promise<boolean> {
    // What this session has counted, too.
    const { rows } = await this.client.query<{ others: number }>(
      `SELECT count(*)::integer AS others, pg_stat_force_next_flush() FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );
    return rows[0]?.others !== 0;
  }

  private async checkpoint(): Promise<void> {
    for (const client of [this.client, ...this.otherNodes]) await client.query('CHECKPOINT');
  }
}

async function counted(client: pg.Client, plants: string): Promise<Progress> {
  const { rows } = await client.query<{ plants: number; commits: string; walBytes: number }>(
    `SELECT ${plants} AS plants, pg_snapshot_xmax(pg_current_snapshot())::text AS commits,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "walBytes"`,
  );
  const { plants: count = 0, commits, walBytes = 0 } = rows[0] ?? {};
  return { plants: count, commits: Number(commits), walBytes };
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
