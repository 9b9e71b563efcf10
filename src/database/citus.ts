import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import type { Query } from './database.js';

/** A part of a distributed table, on one node. */
export interface ShardPlacement {
  /** The smallest hash of an id that belongs to it; it ends where the next one begins. */
  readonly minHash: number;
  /** The node that holds it, for people: its host and port. */
  readonly node: string;
}

/** Copied to each node before plants is distributed, so that instances on any node can start. */
const COPIED = ['access_tokens', '_prisma_migrations'];
/** Limit of a question to all nodes, of which one may be silent. */
const NODES_TIMEOUT_MS = 5000;
/** Limit of the wait for a table in use, as creates wait behind it: shorter than they may wait. */
const LOCK_TIMEOUT_MS = 2000;

/** How a table is spread over the nodes. */
interface Distribution {
  readonly isCopied: boolean;
  /** The column by whose hash its rows are distributed. */
  readonly column: string | null;
  readonly shards: number;
  /** Whether rows of before are left on this node. */
  readonly hasRest: boolean;
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

  /** Where this node is a worker of a cluster, its coordinator: the only one that changes tables. */
  async findCoordinator(): Promise<string | undefined> {
    if (!(await this.isInstalled())) return undefined;
    const [row] = await this.query<{ node: string | null }>(
      `SELECT (SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE groupid = 0 AND noderole = 'primary') AS node
       FROM pg_dist_local_group WHERE groupid <> 0`,
    );
    return row && (row.node ?? 'its coordinator');
  }

  /** Why a service must not start here, and what a person should know. */
  async inspect(): Promise<{ fault?: string; warnings: string[] }> {
    const warnings: string[] = [];
    const tables = await this.findTables();
    if (!tables.has('plants')) return { warnings };
    const missing = COPIED.filter((table) => tables.get(table)?.isCopied !== true).join(' and ');
    if (missing !== '')
      warnings.push(`plants is distributed, and ${missing} not copied to each node: run plant-store distribute`);
    const doubtful = this.query<{ found: string; isKnown: boolean; fix: string }>(
      `SELECT format('synchronous_commit is %s on node %s:%s', CASE WHEN success THEN result ELSE 'not known (' || result || ')' END,
           nodename, nodeport) AS found, success AS "isKnown",
         format('ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on', current_user, current_database()) AS fix
       FROM run_command_on_all_nodes('SHOW synchronous_commit') JOIN pg_dist_node USING (nodeid)
       WHERE NOT success OR result NOT IN ('on', 'remote_apply')`,
    );
    const late = (): Error => new Error(`a node does not answer within ${NODES_TIMEOUT_MS} ms`);
    const nodes = await withinTime(doubtful, NODES_TIMEOUT_MS, late).catch((error: unknown) => [
      { found: `synchronous_commit of the nodes is not known: ${reasonOf(error)}`, isKnown: false, fix: '' },
    ]);
    const wrong = nodes.find(({ isKnown }) => isKnown);
    if (wrong) return { fault: `${wrong.found}: plants could be lost. Run on the coordinator: ${wrong.fix}`, warnings };
    return { warnings: [...warnings, ...nodes.map(({ found }) => found)] };
  }

  /** The number of plants, as the nodes estimate it: -1 where one has no estimate; undefined where plants is an ordinary table. */
  async estimate(): Promise<string | undefined> {
    if (!(await this.findTables()).has('plants')) return undefined;
    const [row] = await this.query<{ count: string }>(
      `SELECT (CASE WHEN min(result::bigint) < 0 THEN -1 ELSE sum(result::bigint) END)::text AS count
       FROM run_command_on_shards($1, 'SELECT reltuples::bigint FROM pg_class WHERE oid = ''%s''::regclass')`,
      [this.qualified('plants')],
    );
    return row?.count;
  }

  /**
   * Distributes plants by id, with copies of the other tables on each node, and returns what it has done. Each table is one
   * transaction, which removes the local rows too: it can be interrupted anywhere, and repeated. It needs one connection.
   *
   * @param shards twice the nodes unless given
   */
  async distribute(shards?: number): Promise<string[]> {
    if (!(await this.isInstalled()))
      throw new Error('there is no Citus in this database: docs/scaling.md says how to install it on each node');
    const nodes = await this.query(
      `SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'`,
    );
    if (nodes.length === 0)
      throw new Error(`no node may hold shards. Add each worker: SELECT citus_add_node('HOST', 5432)`);
    const tables = await this.findTables();
    const plants = tables.get('plants');
    const name = pg.escapeLiteral(this.qualified('plants'));
    if (plants && plants.column !== 'id') {
      const found = `plants is distributed by ${plants.column ?? 'no column'}, should be by id`;
      throw new Error(`${found}. Run SELECT undistribute_table(${name}), and distribute again`);
    }
    if (plants && shards !== undefined && plants.shards !== shards) {
      const fix = `SELECT alter_distributed_table(${name}, shard_count := ${shards})`;
      throw new Error(`plants has ${plants.shards} shards already. To change that, while creates wait: ${fix}`);
    }
    const done: string[] = [];
    const convert = async (
      table: string,
      isDone: boolean | undefined,
      statement: string,
      what: string,
    ): Promise<void> => {
      if (isDone === true && tables.get(table)?.hasRest === false) return;
      const qualified = this.qualified(table);
      // Nobody writes meanwhile, so that the rows that are left are those that were copied.
      await this.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
        LOCK TABLE ${qualified} IN ACCESS EXCLUSIVE MODE;
        ${isDone === true ? '' : statement};
        SELECT truncate_local_data_after_distributing_table(${pg.escapeLiteral(qualified)}); COMMIT`);
      done.push(what);
    };
    for (const table of COPIED) {
      const copy = `SELECT create_reference_table(${pg.escapeLiteral(this.qualified(table))})`;
      await convert(table, tables.get(table)?.isCopied, copy, `copied ${table} to each node`);
    }
    const count = plants?.shards ?? shards ?? 2 * nodes.length;
    const create = `SELECT create_distributed_table(${name}, 'id', shard_count := ${count}, colocate_with := 'none')`;
    await convert('plants', plants !== undefined, create, `distributed plants over ${count} shards`);
    return done;
  }

  /** The tables that are not ordinary ones, by name. */
  private async findTables(): Promise<Map<string, Distribution>> {
    if (!(await this.isInstalled())) return new Map();
    const rows = await this.query<Distribution & { name: string }>(
      `SELECT relname::text AS name, partmethod = 'n' AND repmodel = 't' AS "isCopied",
         CASE WHEN partmethod = 'h' THEN column_to_column_name(logicalrelid, partkey) END AS column,
         (SELECT count(*)::int FROM pg_dist_shard AS shard WHERE shard.logicalrelid = part.logicalrelid) AS shards,
         pg_relation_size(logicalrelid) > 0 AS "hasRest"
       FROM pg_dist_partition AS part JOIN pg_class ON pg_class.oid = logicalrelid
       JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`,
      [this.schema],
    );
    return new Map(rows.map((row) => [row.name, row]));
  }

  private qualified(table: string): string {
    return `${pg.escapeIdentifier(this.schema)}.${table}`;
  }

  private async isInstalled(): Promise<boolean> {
    return (await this.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;
  }
}
