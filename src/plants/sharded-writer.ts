import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Database, Query } from '../database/database.js';
import { MigrationError } from '../database/database.errors.js';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import type { PlantWriter } from './batch-writer.js';
import { INT64_MAX, INT64_MIN } from './new-plant.js';
import {
  type PlantRecord,
  PlantStatements,
  RETURNING,
  sizeOf,
  type StoredPlant,
  valuesOf,
} from './plant-statements.js';
import { isUndecided, rejectionOf } from './storage-failure.js';

const TYPES = ['bigint', 'bigint', 'text', 'text', 'text', 'text'];
const READ_EVERY_MS = 60_000;
/** Limit of a query on all nodes: one of them may not answer. */
const NODES_TIMEOUT_MS = 5000;
/** Ids for which our hash is compared with the database's. */
const SAMPLE_IDS = [0n, 1n, -1n, 2n ** 32n, -(2n ** 32n), INT64_MAX, INT64_MIN];
/** SQLSTATEs of a server that lives, but has lost the one that holds the shard: the statement may have been committed there before. */
const SHARD_LOST = /^(?:08|57P|XX)/;

/**
 * Has a batch writer for each shard of a table that Citus has distributed. The map of the shards may be out of date: a statement then concerns
 * two of them, which costs time and changes no result.
 */
export class ShardedWriter implements PlantWriter {
  private readonly logger = new Logger(ShardedWriter.name);
  /** In the order of their hashes. Each shard ends where the next one begins. */
  private shards: readonly { readonly minHash: number; readonly writer: PlantWriter }[] = [];
  private nextReading = 0;

  /**
   * @param readShards returns the smallest hash of each shard, in ascending order; none if the table is in one place
   * @param writer of a table in one place
   */
  constructor(
    private readonly readShards: () => Promise<number[]>,
    private readonly writer: PlantWriter,
    private readonly writerOfShard: () => PlantWriter,
  ) {}

  /** Undefined if the database does not have the extension. @throws MigrationError if plants could be lost */
  static async open(
    { query, schema }: Pick<Database, 'query' | 'schema'>,
    writer: PlantWriter,
    writerOfShard: () => PlantWriter,
  ): Promise<ShardedWriter | undefined> {
    if (!(await hasCitus(query))) return undefined;
    await assertDurableShards(query, schema);
    const sharded = new ShardedWriter(() => readShards(query, schema), writer, writerOfShard);
    await sharded.refresh();
    return sharded;
  }

  create(record: PlantRecord): Promise<StoredPlant | undefined> {
    if (performance.now() >= this.nextReading) void this.refresh();
    const hash = hashInt8(record.id);
    const shard = this.shards.findLast(({ minHash }) => minHash <= hash);
    return (shard?.writer ?? this.writer).create(record);
  }

  /** Reads the map. The writers of an earlier one get no creates, and end with those that they have. A failure here ends nothing. */
  async refresh(): Promise<void> {
    this.nextReading = performance.now() + READ_EVERY_MS;
    try {
      const found = await this.readShards();
      if (String(found) === String(this.shards.map(({ minHash }) => minHash))) return;
      this.shards = found.map((minHash) => ({ minHash, writer: this.writerOfShard() }));
      this.logger.log(`The table plants has ${found.length} shards`);
    } catch (error) {
      this.logger.warn(`The shards of the table plants were not read: ${reasonOf(error)}`);
    }
  }
}

export function mayBeStoredInShard(error: unknown): boolean {
  return isUndecided(error) || SHARD_LOST.test(rejectionOf(error) ?? '');
}

/** The statements for plants of one shard. */
export class ShardStatements extends PlantStatements {
  // While a statement of one shard waits for the disk, those of the others are sent.
  override readonly pace = 1;
  override readonly mayBeStored = mayBeStoredInShard;

  /**
   * A statement goes to its shard unchanged, and is committed there, only if its rows are constants. With a sub-select, for a setting, it would be
   * committed on two servers. The shortest plant is repeated up to a power of two, so that there are few statements to prepare.
   */
  override insert(plants: readonly PlantRecord[]): Promise<string[]> {
    // In the order of their ids, or two statements could each wait for a row of the other; the first of several with one id stays first.
    const sorted = [...plants].sort(({ id: one }, { id: other }) => (one < other ? -1 : Number(one > other)));
    const shortest = plants.reduce((one, other) => (sizeOf(other) < sizeOf(one) ? other : one));
    while (Math.log2(sorted.length) % 1 > 0) sorted.push(shortest);
    const rowOf = (_: unknown, row: number): string =>
      `(${TYPES.map((type, column) => `$${row * TYPES.length + column + 1}::${type}`).join(', ')})`;
    const sql = `${this.insertInto} VALUES ${sorted.map(rowOf).join(', ')} ${RETURNING}`;
    return this.database.queryColumn(sql, sorted.flatMap(valuesOf));
  }

  /** Their server made the plants durable before it showed them. A fence would be written on the server that gets the statement. */
  override findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, StoredPlant>> {
    return this.find(plants);
  }
}

async function hasCitus(query: Query): Promise<boolean> {
  return (await query(`SELECT FROM pg_extension WHERE extname = 'citus'::name`)).length > 0;
}

/** The smallest hash of each shard of `plants`, in ascending order; none if the table is in one place. */
async function findShards(query: Query, schema: string): Promise<number[]> {
  const shards = await query<{ minHash: number }>(
    `SELECT shardminvalue::float8 AS "minHash" FROM pg_dist_shard AS shard
     JOIN pg_dist_partition AS part ON part.logicalrelid::oid = shard.logicalrelid::oid
     WHERE part.logicalrelid::oid = to_regclass($1::text)::oid AND partmethod = 'h'::"char" ORDER BY 1`,
    [`${pg.escapeIdentifier(schema)}.plants`],
  );
  return shards.map(({ minHash }) => minHash);
}

/** The same, if the database hashes ids as `hashInt8` does. */
async function readShards(query: Query, schema: string): Promise<number[]> {
  const sql = 'SELECT id::text, hashint8(id)::float8 AS hash FROM pg_catalog.unnest($1::bigint[]) AS id';
  const hashes = await query<{ id: string; hash: number }>(sql, [SAMPLE_IDS.map(String)]);
  if (hashes.every(({ id, hash }) => hashInt8(BigInt(id)) === hash)) return findShards(query, schema);
  throw new Error('this database hashes ids in a way that is not known here: creates go on, but slower');
}

/** Throws if plants could be lost: an insert cannot set `synchronous_commit` on the server of its shard, so that of the role counts. */
export async function assertDurableShards(query: Query, schema: string): Promise<void> {
  if (!(await hasCitus(query)) || (await findShards(query, schema)).length === 0) return;
  // This session commits in the shards of its own node. If it is as weak as the role, the role is to be changed: the nodes come first.
  const weak = query<{ found: string }>(
    `SELECT pg_catalog.format('synchronous_commit is %s on node %s:%s: plants could be lost. '
         'Run on the coordinator: ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on',
         result, nodename, nodeport, current_user, current_database()) AS found
     FROM run_command_on_all_nodes('SHOW synchronous_commit'::text) JOIN pg_dist_node USING (nodeid)
     WHERE success AND result NOT IN ('on'::text, 'remote_apply'::text)
     UNION ALL
     SELECT pg_catalog.format('synchronous_commit is %s in this session: plants could be lost. '
         'Remove it from DATABASE_URL, PGOPTIONS or your pool', value)
     FROM current_setting('synchronous_commit'::text) AS value WHERE value NOT IN ('on'::text, 'remote_apply'::text)`,
  );
  const late = (): Error => new Error(`a node does not answer within ${NODES_TIMEOUT_MS} ms`);
  const [first] = await withinTime(weak, NODES_TIMEOUT_MS, late).catch((error: unknown) => {
    new Logger(ShardedWriter.name).warn(`synchronous_commit of the nodes is not known: ${reasonOf(error)}`);
    return [];
  });
  if (first) throw new MigrationError('refused', first.found);
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** The function `hashint8` of PostgreSQL, whose results partitions rest on, so that it does not change. */
export function hashInt8(id: bigint): number {
  const high = Number(BigInt.asIntN(32, id >> 32n));
  const word = Number(BigInt.asIntN(32, id)) ^ (id >= 0n ? high : ~high);
  const start = (0x9e3779b9 + 4 + 3923095) | 0;
  // The final mix of Bob Jenkins' hash: three words change in turn.
  let [target, source, other] = [start, start, (start + word) | 0];
  for (const bits of [14, 11, 25, 16, 4, 14, 24]) {
    const changed = ((target ^ source) - rotate(source, bits)) | 0;
    target = other;
    other = source;
    source = changed;
  }
  return source;
}
