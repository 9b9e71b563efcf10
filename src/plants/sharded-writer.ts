import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Database, Query } from '../prisma/database.js';
import { MigrationError } from '../prisma/database.errors.js';
import { reasonOf } from '../util/text.js';
import type { PlantWriter } from './batch-writer.js';
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
const REFRESH_EVERY_MS = 60_000;
/** SQLSTATEs of a coordinator that lost the node of a shard. The node may have committed before. */
const SHARD_LOST = /^(?:08|57P|XX)/;
/** The shards of the table $1, if it is distributed. */
const SHARDS = 'pg_dist_shard WHERE logicalrelid::oid = to_regclass($1::text)::oid AND shardminvalue IS NOT NULL';

/** Has a writer for each shard of a table that Citus distributes. With an old shard map, statements are only slower. */
export class ShardedWriter implements PlantWriter {
  private readonly logger = new Logger(ShardedWriter.name);
  /** Ordered by hash. Each shard ends where the next one begins. */
  private shards: readonly { readonly minHash: number; readonly writer: PlantWriter }[] = [];
  private nextRefreshAt = 0;

  constructor(
    private readonly database: Pick<Database, 'query' | 'schema'>,
    /** The writer for a table that is not distributed. */
    private readonly writer: PlantWriter,
    private readonly writerOfShard: () => PlantWriter,
  ) {}

  create(record: PlantRecord): Promise<StoredPlant | undefined> {
    if (performance.now() >= this.nextRefreshAt) void this.refresh();
    const hash = hashInt8(record.id);
    const shard = this.shards.findLast(({ minHash }) => minHash <= hash);
    return (shard?.writer ?? this.writer).create(record);
  }

  /** Reads the shard map. Writers of an earlier map finish their creates. A failure here is only logged. */
  async refresh(): Promise<void> {
    this.nextRefreshAt = performance.now() + REFRESH_EVERY_MS;
    try {
      const rows = await this.database.query<{ minHash: number }>(
        `SELECT shardminvalue::float8 AS "minHash" FROM ${SHARDS} ORDER BY 1`,
        [tableIn(this.database.schema)],
      );
      const found = rows.map(({ minHash }) => minHash);
      if (String(found) === String(this.shards.map(({ minHash }) => minHash))) return;
      this.shards = found.map((minHash) => ({ minHash, writer: this.writerOfShard() }));
      this.logger.log(`The table plants has ${found.length} shards`);
    } catch (error) {
      this.logger.warn(
        `The shards of the table plants were not read: ${reasonOf(error)}. The next try comes in a minute`,
      );
    }
  }
}

export class ShardStatements extends PlantStatements {
  // While the statement of one shard waits for the disk, the others send theirs.
  override readonly pace = 1;
  /** The node makes a plant durable before it shows it, so no fence is needed. */
  protected override readonly fence = '';
  /** SQL by the number of rows. */
  private readonly sqlBySize = new Map<number, string>();

  override mayBeStored(error: unknown): boolean {
    return isUndecided(error) || SHARD_LOST.test(rejectionOf(error) ?? '');
  }

  /** Citus commits on one node only if all rows are constants. So this statement sets no setting. */
  override insert(plants: readonly PlantRecord[]): Promise<string[]> {
    // The order of ids prevents deadlocks. The first of several plants with one id stays first.
    const sorted = [...plants].sort(({ id: one }, { id: other }) => (one < other ? -1 : Number(one > other)));
    // The shortest row fills the statement up, so that few different statements are prepared.
    const shortest = plants.reduce((one, other) => (sizeOf(other) < sizeOf(one) ? other : one));
    const size = paddedSize(sorted.length);
    while (sorted.length < size) sorted.push(shortest);
    let sql = this.sqlBySize.get(size);
    if (sql === undefined) this.sqlBySize.set(size, (sql = `${this.insertInto} VALUES ${rowsOf(size)} ${RETURNING}`));
    return this.database.queryColumn(sql, sorted.flatMap(valuesOf));
  }
}

/** The next power of two or three quarters of it. More rows would cost: a repeated row costs as much as a new one. */
function paddedSize(rows: number): number {
  const power = 2 ** Math.ceil(Math.log2(rows));
  return power > 2 && rows <= power * 0.75 ? power * 0.75 : power;
}

function rowsOf(size: number): string {
  const rows = Array.from({ length: size }, (_, row) =>
    TYPES.map((type, column) => `$${row * TYPES.length + column + 1}::${type}`),
  );
  return rows.map((row) => `(${row.join()})`).join();
}

const tableIn = (schema: string): string => `${pg.escapeIdentifier(schema)}.plants`;

/**
 * Whether the database has Citus. An insert cannot set `synchronous_commit` on another node, so the role must have it.
 * @throws MigrationError if plants could be lost
 */
export async function assertDurableShards(query: Query, schema: string): Promise<boolean> {
  const citus = await query(`SELECT FROM pg_extension WHERE extname = 'citus'::name`);
  if (citus.length === 0) return false;
  const weak = query<{ found: string }>(
    `SELECT pg_catalog.format('synchronous_commit is %s: plants could be lost. Run on the coordinator: '
         'ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on; and leave it out of DATABASE_URL, PGOPTIONS and your pool',
         setting || place, current_user, current_database()) AS found
     FROM (
       SELECT result AS setting, pg_catalog.format(' on node %s:%s', nodename, nodeport) AS place
       FROM run_command_on_all_nodes('SHOW synchronous_commit'::text) JOIN pg_dist_node USING (nodeid) WHERE success
       UNION ALL SELECT current_setting('synchronous_commit'::text), ' in this session'::text) AS commits
     WHERE setting NOT IN ('on'::text, 'remote_apply'::text) AND EXISTS (SELECT FROM ${SHARDS})`,
    [tableIn(schema)],
  );
  const [first] = await weak.catch((error: unknown) => {
    // One node without an answer must not stop the others.
    const advice = 'Check that it is on at every node, or plants could be lost';
    new Logger(ShardedWriter.name).warn(`synchronous_commit of the nodes was not read: ${reasonOf(error)}. ${advice}`);
    return [];
  });
  if (first) throw new MigrationError('refused', first.found);
  return true;
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** The function `hashint8` of PostgreSQL. Partitions depend on its results, so it never changes. */
export function hashInt8(id: bigint): number {
  const high = Number(BigInt.asIntN(32, id >> 32n));
  const word = Number(BigInt.asIntN(32, id)) ^ (id >= 0n ? high : ~high);
  const start = (0x9e3779b9 + 4 + 3923095) | 0;
  // The final mix of the hash of Bob Jenkins. Its three words change in turn.
  let [changing, mixer, next] = [start, start, (start + word) | 0];
  for (const bits of [14, 11, 25, 16, 4, 14, 24]) {
    const mixed = ((changing ^ mixer) - rotate(mixer, bits)) | 0;
    changing = next;
    next = mixer;
    mixer = mixed;
  }
  return mixer;
}
