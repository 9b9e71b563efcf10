import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Database, Query } from '../database/database.js';
import { MigrationError } from '../database/database.errors.js';
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
const READ_EVERY_MS = 60_000;
/** SQLSTATEs of a server that has lost the one that holds the shard: the statement may have been committed there before. */
const SHARD_LOST = /^(?:08|57P|XX)/;
/** Of a table that is distributed; `$1` is its name. */
const SHARDS = 'pg_dist_shard WHERE logicalrelid::oid = to_regclass($1::text)::oid AND shardminvalue IS NOT NULL';

/** Has a writer for each shard of a table that Citus has distributed. With a map that is out of date a statement is only slower. */
export class ShardedWriter implements PlantWriter {
  private readonly logger = new Logger(ShardedWriter.name);
  /** In the order of their hashes. Each shard ends where the next one begins. */
  private shards: readonly { readonly minHash: number; readonly writer: PlantWriter }[] = [];
  private nextReading = 0;

  constructor(
    private readonly database: Pick<Database, 'query' | 'schema'>,
    /** Of a table that is not distributed. */
    private readonly writer: PlantWriter,
    private readonly writerOfShard: () => PlantWriter,
  ) {}

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
      const rows = await this.database.query<{ minHash: number }>(
        `SELECT shardminvalue::float8 AS "minHash" FROM ${SHARDS} ORDER BY 1`,
        [tableIn(this.database.schema)],
      );
      const found = rows.map(({ minHash }) => minHash);
      if (String(found) === String(this.shards.map(({ minHash }) => minHash))) return;
      this.shards = found.map((minHash) => ({ minHash, writer: this.writerOfShard() }));
      this.logger.log(`The table plants has ${found.length} shards`);
    } catch (error) {
      this.logger.warn(`The shards of the table plants were not read: ${reasonOf(error)}`);
    }
  }
}

/** The statements for plants of one shard. */
export class ShardStatements extends PlantStatements {
  // While a statement of one shard waits for the disk, those of the others are sent.
  override readonly pace = 1;
  /** The server of the shard made the plants durable before it showed them. */
  protected override readonly fence = '';
  /** By their number of rows. */
  private readonly insertSqls = new Map<number, string>();

  override mayBeStored(error: unknown): boolean {
    return isUndecided(error) || SHARD_LOST.test(rejectionOf(error) ?? '');
  }

  /** A statement is sent on to its shard, and committed there alone, only if its rows are constants: so it makes no setting. */
  override insert(plants: readonly PlantRecord[]): Promise<string[]> {
    // In the order of their ids, or two statements could each wait for a row of the other; the first of several with one id stays first.
    const sorted = [...plants].sort(({ id: one }, { id: other }) => (one < other ? -1 : Number(one > other)));
    // The shortest is repeated: there are few statements to prepare.
    const shortest = plants.reduce((one, other) => (sizeOf(other) < sizeOf(one) ? other : one));
    const size = paddedSize(sorted.length);
    while (sorted.length < size) sorted.push(shortest);
    let sql = this.insertSqls.get(size);
    if (sql === undefined) this.insertSqls.set(size, (sql = `${this.insertInto} VALUES ${rowsOf(size)} ${RETURNING}`));
    return this.database.queryColumn(sql, sorted.flatMap(valuesOf));
  }
}

/** The next power of two, or three quarters of it: a row that is repeated costs as much as one that is new. */
function paddedSize(rows: number): number {
  const power = 2 ** Math.ceil(Math.log2(rows));
  return power > 2 && rows <= power * 0.75 ? power * 0.75 : power;
}

/** The parameters of so many rows. */
function rowsOf(size: number): string {
  const rows = Array.from({ length: size }, (_, row) =>
    TYPES.map((type, column) => `$${row * TYPES.length + column + 1}::${type}`),
  );
  return rows.map((row) => `(${row.join()})`).join();
}

const tableIn = (schema: string): string => `${pg.escapeIdentifier(schema)}.plants`;

/**
 * Whether the database has Citus. An insert cannot set `synchronous_commit` on the server of its shard, so that of the role counts.
 *
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
    // A node that does not answer keeps no other from its work.
    new Logger(ShardedWriter.name).warn(`synchronous_commit of the nodes is not known: ${reasonOf(error)}`);
    return [];
  });
  if (first) throw new MigrationError('refused', first.found);
  return true;
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** The function `hashint8` of PostgreSQL, whose results partitions rest on, so that it does not change. */
export function hashInt8(id: bigint): number {
  const high = Number(BigInt.asIntN(32, id >> 32n));
  const word = Number(BigInt.asIntN(32, id)) ^ (id >= 0n ? high : ~high);
  const start = (0x9e3779b9 + 4 + 3923095) | 0;
  // The final mix of Bob Jenkins' hash: three words change in turn.
  let [changing, mixer, next] = [start, start, (start + word) | 0];
  for (const bits of [14, 11, 25, 16, 4, 14, 24]) {
    const mixed = ((changing ^ mixer) - rotate(mixer, bits)) | 0;
    changing = next;
    next = mixer;
    mixer = mixed;
  }
  return mixer;
}
