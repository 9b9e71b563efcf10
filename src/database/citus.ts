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

/** What is small, and read on every node: a copy on each. In this order before plants, so that instances on any node start. */
const REPLICATED = ['access_tokens', '_prisma_migrations'];
/** Limit of the question to all nodes: one of them may not answer, and a start does not wait for it. */
const NODES_TIMEOUT_MS = 5000;
/** Limit of the wait for a table in use, as creates wait behind it: shorter than they may wait. */
const LOCK_TIMEOUT_MS = 2000;

/** How a table is spread over the nodes. */
interface Distribution {
  readonly table: string;
  readonly isReplicated: boolean;
  /** The column by whose hash its rows are distributed. */
  readonly column: string | null;
  readonly shards: number;
  /** Bytes on this node that were there before. */
  readonly localBytes: number;
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

  /** Says why a service must not start here, and what a person should know. */
  async inspect(): Promise<{ fault?: string; warnings: string[] }> {
    const warnings: string[] = [];
    const tables = (await this.isInstalled()) ? await this.findDistributions() : [];
    if (tables.every(({ table }) => table !== 'plants')) return { warnings };
    const copied = tables.filter(({ isReplicated }) => isReplicated).map(({ table }) => table);
    const missing = REPLICATED.filter((table) => !copied.includes(table)).join(' and ');
    if (missing !== '')
      warnings.push(`plants is distributed, and ${missing} not copied to each node: run plant-store distribute`);
    const nodes = this.query<{ node: string; success: boolean; result: string; fix: string }>(
      `SELECT nodename || ':' || nodeport AS node, success, result,
         format('ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on', current_user, current_database()) AS fix
       FROM run_command_on_all_nodes('SHOW synchronous_commit') JOIN pg_dist_node USING (nodeid)`,
    );
    const late = (): Error => new Error(`a node does not answer within ${NODES_TIMEOUT_MS} ms`);
    try {
      for (const { node, success, result, fix } of await withinTime(nodes, NODES_TIMEOUT_MS, late)) {
        if (!success) warnings.push(`synchronous_commit of node ${node} is not known: ${result}`);
        else if (!['on', 'remote_apply'].includes(result)) {
          const fault = `synchronous_commit is ${result} on node ${node}, should be on: plants that were created could be lost`;
          return { fault: `${fault}. Run on the coordinator: ${fix}`, warnings };
        }
      }
    } catch (error) {
      warnings.push(`synchronous_commit of the nodes is not known: ${reasonOf(error)}`);
    }
    return { warnings };
  }

  /**
   * Distributes plants by id, with copies of the other tables on each node, and returns what it has done. Each table is one
   * transaction, which removes the local rows too: it can be interrupted anywhere, and repeated.
   *
   * @param query on one connection, for transactions
   * @param shards twice the nodes unless given
   */
  async distribute(shards?: number): Promise<string[]> {
    if (!(await this.isInstalled()))
      throw new Error(
        'there is no Citus. Install it on each node, and run CREATE EXTENSION citus there: docs/scaling.md',
      );
    const nodes = await this.query(
      `SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'`,
    );
    if (nodes.length === 0)
      throw new Error(`no node may hold shards. Add each worker: SELECT citus_add_node('HOST', 5432)`);
    const tables = await this.findDistributions();
    const plants = tables.find(({ table }) => table === 'plants');
    const name = this.qualified('plants');
    if (plants !== undefined && plants.column !== 'id') {
      const by = plants.column === null ? 'not by the hash of a column' : `by ${plants.column}`;
      throw new Error(`plants is distributed ${by}, should be by id. Run SELECT undistribute_table('${name}') before`);
    }
    if (plants !== undefined && shards !== undefined && plants.shards !== shards) {
      const fix = `SELECT alter_distributed_table('${name}', shard_count := ${shards})`;
      throw new Error(`plants has ${plants.shards} shards already. Creates wait while this changes them: ${fix}`);
    }
    const done: string[] = [];
    for (const table of REPLICATED) {
      const before = tables.find((each) => each.table === table);
      const command =
        before?.isReplicated === true
          ? ''
          : `SELECT create_reference_table(${pg.escapeLiteral(this.qualified(table))})`;
      if (await this.convert(table, command, before)) done.push(`copied ${table} to each node`);
    }
    const count = shards ?? 2 * nodes.length;
    const create = `SELECT create_distributed_table(${pg.escapeLiteral(name)}, 'id', shard_count := ${count}, colocate_with := 'none')`;
    if (await this.convert('plants', plants ? '' : create, plants))
      done.push(`distributed plants over ${count} shards`);
    return done;
  }

  /** Nobody writes meanwhile, so that the rows that stay behind are those that were copied. Returns whether there was anything to do. */
  private async convert(table: string, command: string, before?: Distribution): Promise<boolean> {
    if (command === '' && before?.localBytes === 0) return false;
    const name = this.qualified(table);
    await this
      .query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE; ${command};
      SELECT truncate_local_data_after_distributing_table(${pg.escapeLiteral(name)}); COMMIT`);
    return true;
  }

  private findDistributions(): Promise<Distribution[]> {
    return this.query(
      `SELECT relname::text AS table, partmethod = 'n' AND repmodel = 't' AS "isReplicated",
         CASE WHEN partmethod = 'h' THEN column_to_column_name(logicalrelid, partkey) END AS column,
         (SELECT count(*)::int FROM pg_dist_shard AS shard WHERE shard.logicalrelid = part.logicalrelid) AS shards,
         pg_relation_size(logicalrelid)::float8 AS "localBytes"
       FROM pg_dist_partition AS part JOIN pg_class ON pg_class.oid = logicalrelid
       JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`,
      [this.schema],
    );
  }

  private qualified(table: string): string {
    return `${pg.escapeIdentifier(this.schema)}.${table}`;
  }

  private async isInstalled(): Promise<boolean> {
    return (await this.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;
  }
}
