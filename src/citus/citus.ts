import pg from 'pg';
import { Logger } from '@nestjs/common';
import type { Database, Query } from '../database/database.js';
import { MigrationError } from '../database/migrations/migration-status.js';
import type { Lanes } from '../plants/lanes.js';
import type { PlantStatements } from '../plants/plant-sql.js';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { type ShardPlacement, Shards } from './shards.js';

/** Limit of a query on all nodes: one of them may not answer. */
const NODES_TIMEOUT_MS = 5000;

/** A database with Citus. No other class knows its functions and catalogue. */
export class Citus {
  /** The table of the plants. */
  private readonly table: string;

  constructor(
    private readonly query: Query,
    schema: string,
  ) {
    this.table = `${pg.escapeIdentifier(schema)}.plants`;
  }

  /** Sends the creates of a store to the shards of its table, and follows changes of the shards. */
  async spread(lanes: Lanes, database: Database, statements: PlantStatements): Promise<void> {
    await new Shards(lanes, database, statements, () => this.findShards()).start();
  }

  /** The shards of `plants`, in the order of their hashes; empty if the table is not distributed. */
  findShards(): Promise<ShardPlacement[]> {
    return this.query<ShardPlacement>(
      `SELECT shardminvalue::float8 AS "minHash", nodename || ':' || nodeport::text AS node
       FROM pg_catalog.pg_dist_shard AS shard
       JOIN pg_catalog.pg_dist_placement USING (shardid)
       JOIN pg_catalog.pg_dist_node USING (groupid)
       JOIN pg_catalog.pg_dist_partition AS part ON part.logicalrelid::oid = shard.logicalrelid::oid
       WHERE part.logicalrelid::oid = pg_catalog.to_regclass($1)::oid AND partmethod = 'h' AND noderole::text = 'primary'
         AND shardstate = 1
       ORDER BY 1`,
      [this.table],
    );
  }

  /**
   * Throws if plants could be lost: an insert cannot set `synchronous_commit` on the node of its shard, so that of the role counts. A node
   * that does not answer is a warning, and keeps the connection busy afterwards.
   */
  async assertDurable(): Promise<void> {
    if ((await this.findShards()).length === 0) return;
    // This session commits in the shards of its own node. If it is as weak as the role, the role is to be changed: the nodes come first.
    const weak = this.query<{ found: string }>(
      `SELECT pg_catalog.format('synchronous_commit is %s on node %s:%s: plants could be lost. '
           'Run on the coordinator: ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on',
           result, nodename, nodeport, current_user, pg_catalog.current_database()) AS found
       FROM pg_catalog.run_command_on_all_nodes('SHOW synchronous_commit') JOIN pg_catalog.pg_dist_node USING (nodeid)
       WHERE success AND result NOT IN ('on', 'remote_apply')
       UNION ALL
       SELECT pg_catalog.format('synchronous_commit is %s in this session: plants could be lost. '
           'Remove it from DATABASE_URL, PGOPTIONS or your pool', value)
       FROM pg_catalog.current_setting('synchronous_commit') AS value WHERE value NOT IN ('on', 'remote_apply')`,
    );
    const late = (): Error => new Error(`a node does not answer within ${NODES_TIMEOUT_MS} ms`);
    const [first] = await withinTime(weak, NODES_TIMEOUT_MS, late).catch((error: unknown) => {
      new Logger(Citus.name).warn(`synchronous_commit of the nodes is not known: ${reasonOf(error)}`);
      return [];
    });
    if (first) throw new MigrationError('refused', first.found);
  }
}
