import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { type ShardPlacement, Shards } from './shards.js';
import type { Database, Query } from '../database/database.js';
import { isCitusInstalled, LOCK_TIMEOUT_MS } from '../database/load-citus.js';
import type { Lanes } from '../plants/lanes.js';
import type { PlantStatements } from '../plants/plant-sql.js';

/** Copied to each node before plants is distributed, so that instances on any node can start. */
const COPIED = ['access_tokens', '_prisma_migrations'];
/** Limit of a query on all nodes: one of them may not answer. */
const NODES_TIMEOUT_MS = 5000;
/** How a table is spread over the nodes. */
interface Distribution {
  readonly isCopied: boolean;
  /** Its rows are distributed by the hash of this column. */
  readonly column: string | null;
  readonly shards: number;
}

/** A database with Citus. No other class knows its functions and catalogue. */
export class Citus {
  constructor(
    private readonly query: Query,
    private readonly schema: string,
  ) {}

  /** Sends the creates of a store to the shards of its table, and follows changes of the shards. */
  async spread(lanes: Lanes, database: Database, statements: PlantStatements): Promise<void> {
    await new Shards(lanes, database, statements, () => this.findShards()).start();
  }

  /** The shards of `plants`, in the order of their hashes; empty if the table is not distributed. */
  async findShards(): Promise<ShardPlacement[]> {
    if (!(await isCitusInstalled(this.query))) return [];
    return this.query<ShardPlacement>(
      `SELECT shardminvalue::float8 AS "minHash", nodename || ':' || nodeport::text AS node
       FROM pg_catalog.pg_dist_shard AS shard
       JOIN pg_catalog.pg_dist_placement USING (shardid)
       JOIN pg_catalog.pg_dist_node USING (groupid)
       JOIN pg_catalog.pg_dist_partition AS part ON part.logicalrelid::oid = shard.logicalrelid::oid
       WHERE part.logicalrelid::oid = pg_catalog.to_regclass($1)::oid AND partmethod = 'h' AND noderole::text = 'primary'
         AND shardstate = 1
       ORDER BY 1`,
      [this.qualified('plants')],
    );
  }

  /** The coordinator, which alone changes tables; undefined unless this node is a worker of a cluster. */
  async findCoordinator(): Promise<string | undefined> {
    const [row] = await this.query<{ node: string | null }>(
      `SELECT (SELECT nodename || ':' || nodeport::text FROM pg_catalog.pg_dist_node
         WHERE groupid = 0 AND noderole::text = 'primary') AS node
       FROM pg_catalog.pg_dist_local_group WHERE groupid <> 0`,
    );
    return row && (row.node ?? 'its coordinator');
  }

  /** Returns the warnings. Throws if a service must not start. A node that does not answer keeps the connection busy afterwards. */
  async inspect(): Promise<string[]> {
    const tables = await this.findTables();
    if (!tables.has('plants')) return [];
    const missing = COPIED.filter((table) => tables.get(table)?.isCopied !== true).join(' and ');
    const advice = `plants is distributed, and ${missing} not copied to each node: run plant-store distribute`;
    // This session commits in the shards of its own node, and may differ from the role's other sessions.
    const [own] = await this.query<{ found: string }>(
      `SELECT pg_catalog.format('synchronous_commit is %s in this session: plants could be lost. Remove it from DATABASE_URL, PGOPTIONS or your pool', value)
         AS found FROM pg_catalog.current_setting('synchronous_commit') AS value WHERE value NOT IN ('on', 'remote_apply')`,
    );
    const nodes = this.query<{ found: string; isFault: boolean }>(
      `SELECT success AS "isFault", pg_catalog.format(CASE WHEN success THEN 'synchronous_commit is %s on node %s:%s: plants could be lost. '
           'Run on the coordinator: ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on'
         ELSE 'synchronous_commit is not known (%s) on node %s:%s' END,
         result, nodename, nodeport, current_user, pg_catalog.current_database()) AS found
       FROM pg_catalog.run_command_on_all_nodes('SHOW synchronous_commit') JOIN pg_catalog.pg_dist_node USING (nodeid)
       WHERE NOT success OR result NOT IN ('on', 'remote_apply')`,
    );
    const late = (): Error => new Error(`a node does not answer within ${NODES_TIMEOUT_MS} ms`);
    const doubts = await withinTime(nodes, NODES_TIMEOUT_MS, late).catch((error: unknown) => [
      { found: `synchronous_commit of the nodes is not known: ${reasonOf(error)}`, isFault: false },
    ]);
    const fault = doubts.find(({ isFault }) => isFault) ?? own;
    if (fault) throw new Error(fault.found);
    return [...(missing === '' ? [] : [advice]), ...doubts.map(({ found }) => found)];
  }

  /**
   * Distributes plants by id, with copies of the other tables on each node, and returns what it has done. Each table is one
   * transaction, which removes the local rows too: it can be interrupted anywhere, and repeated. It needs one connection.
   *
   * @param shards twice the nodes unless given
   */
  async distribute(shards?: number): Promise<string[]> {
    const nodes = await this.query(
      `SELECT FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND isactive AND noderole::text = 'primary'`,
    );
    if (nodes.length === 0)
      throw new Error(`no node may hold shards. Add each worker: SELECT pg_catalog.citus_add_node('HOST', 5432)`);
    const tables = await this.findTables();
    const plants = tables.get('plants');
    const plantsName = pg.escapeLiteral(this.qualified('plants'));
    if (plants && plants.column !== 'id') {
      const found = `plants is distributed by ${plants.column ?? 'no column'}, should be by id`;
      throw new Error(`${found}. Run SELECT pg_catalog.undistribute_table(${plantsName}), and distribute again`);
    }
    if (plants && shards !== undefined && plants.shards !== shards) {
      const fix = `SELECT pg_catalog.alter_distributed_table(${plantsName}, shard_count := ${shards})`;
      throw new Error(`plants has ${plants.shards} shards already. To change that, while creates wait: ${fix}`);
    }
    const count = shards ?? 2 * nodes.length;
    const done: string[] = [];
    for (const table of [...COPIED, 'plants']) {
      const isCopied = table !== 'plants';
      if (isCopied ? tables.get(table)?.isCopied : plants) continue;
      const qualified = this.qualified(table);
      const name = pg.escapeLiteral(qualified);
      const distribute = `pg_catalog.create_distributed_table(${name}, 'id', shard_count := ${count}, colocate_with := 'none')`;
      // Other sessions cannot write meanwhile, so the remaining rows are those that were copied.
      await this.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
        LOCK TABLE ${qualified} IN ACCESS EXCLUSIVE MODE;
        SELECT ${isCopied ? `pg_catalog.create_reference_table(${name})` : distribute};
        SELECT pg_catalog.truncate_local_data_after_distributing_table(${name}); COMMIT`);
      done.push(isCopied ? `copied ${table} to each node` : `distributed plants over ${count} shards`);
    }
    return done;
  }

  /** The tables that are not ordinary ones, by name. */
  private async findTables(): Promise<Map<string, Distribution>> {
    const rows = await this.query<Distribution & { name: string }>(
      `SELECT relname::text AS name, partmethod = 'n' AND repmodel = 't' AS "isCopied",
         CASE WHEN partmethod = 'h' THEN pg_catalog.column_to_column_name(logicalrelid, partkey) END AS column,
         (SELECT pg_catalog.count(*)::int FROM pg_catalog.pg_dist_shard AS shard
           WHERE shard.logicalrelid::oid = part.logicalrelid::oid) AS shards
       FROM pg_catalog.pg_dist_partition AS part JOIN pg_catalog.pg_class ON pg_class.oid = logicalrelid::oid
       JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`,
      [this.schema],
    );
    return new Map(rows.map((row) => [row.name, row]));
  }

  private qualified(table: string): string {
    return `${pg.escapeIdentifier(this.schema)}.${table}`;
  }
}
