import pg from 'pg';
import type { Query } from './database.js';

/** A part of a distributed table, on one node. */
export interface ShardPlacement {
  /** The smallest hash of an id that belongs to it; it ends where the next one begins. */
  readonly minHash: number;
  /** The node that holds it, for people: its host and port. */
  readonly node: string;
}

/** What the database does by Citus. No other class knows the functions and the catalogue of that extension. */
export class Citus {
  constructor(
    private readonly query: Query,
    private readonly schema: string,
  ) {}

  /** The shards of `plants`, in the order of their hashes; none where the table is an ordinary one. */
  async findShards(): Promise<ShardPlacement[]> {
    if (!(await this.isInstalled())) return [];
    return this.query<ShardPlacement>(
      `SELECT shardminvalue::float8 AS "minHash", nodename || ':' || nodeport AS node
       FROM pg_dist_shard
       JOIN pg_dist_placement USING (shardid)
       JOIN pg_dist_node USING (groupid)
       JOIN pg_dist_partition USING (logicalrelid)
       WHERE logicalrelid = to_regclass($1) AND partmethod = 'h' AND noderole = 'primary'
       ORDER BY 1`,
      [`${pg.escapeIdentifier(this.schema)}.plants`],
    );
  }

  private async isInstalled(): Promise<boolean> {
    return (await this.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;
  }
}
