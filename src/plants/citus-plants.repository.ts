import { Logger } from '@nestjs/common';
import { isUndecidedOnShard, MigrationError } from '../database/database.errors.js';
import type { PrismaService } from '../database/prisma.service.js';
import type { StorePool } from '../database/store-pool.js';
import { reasonOf } from '../util/text.js';
import { charactersOf } from '../writer/batch-writer.js';
import {
  COLUMN_NAMES,
  ON_CONFLICT,
  placeholders,
  type PlantRecord,
  PlantsRepository,
  tableIn,
  valuesOf,
  type WrittenRow,
} from './plants.repository.js';

/** The shards of the table $1, if it is distributed. */
const SHARDS = 'pg_dist_shard WHERE logicalrelid::oid = to_regclass($1::text)::oid AND shardminvalue IS NOT NULL';

/**
 * The statements for a table that Citus distributes: each is for one shard, whose node commits it alone. The shards are
 * read at the start. If they are split or merged later, statements are only slower.
 */
export class CitusPlantsRepository extends PlantsRepository {
  /** The node makes a plant durable before it shows it. */
  protected override readonly barrier = '';

  /** @param minHashes where each shard begins, in ascending order */
  constructor(
    prisma: PrismaService,
    pool: StorePool,
    private readonly minHashes: readonly number[],
  ) {
    super(prisma, pool);
  }

  override readonly shardOf = ({ id }: PlantRecord): number => {
    const hash = hashInt8(id);
    return this.minHashes.findLast((minHash) => minHash <= hash) ?? 0;
  };

  override isUndecided(error: unknown): boolean {
    return isUndecidedOnShard(error);
  }

  /** Citus commits on one node only if all rows are constants. So this statement sets no time limit for locks. */
  override async insert(plants: readonly PlantRecord[]): Promise<string[]> {
    // The order of ids prevents deadlocks. The first of several plants with one id stays first.
    const sorted = [...plants].sort(({ id: one }, { id: other }) => (one < other ? -1 : Number(one > other)));
    // The shortest row fills the statement up, so that few different statements are prepared.
    const shortest = plants.reduce((one, other) => (charactersOf(other) < charactersOf(one) ? other : one));
    const size = paddedSize(sorted.length);
    while (sorted.length < size) sorted.push(shortest);
    const values = sorted.flatMap(valuesOf);
    const rows = sorted.map((_, row) => `(${placeholders((row * values.length) / size)})`).join(', ');
    const stored = await this.prisma.$queryRawUnsafe<WrittenRow[]>(
      `INSERT INTO ${this.table} (${COLUMN_NAMES}) VALUES ${rows} ${ON_CONFLICT}`,
      ...values,
    );
    return stored.map(({ writeId }) => writeId);
  }
}

/** The next power of two or three quarters of it. More rows would cost: a repeated row costs as much as a new one. */
function paddedSize(rows: number): number {
  const power = 2 ** Math.ceil(Math.log2(rows));
  return power > 2 && rows <= power * 0.75 ? power * 0.75 : power;
}

/**
 * Finds where the shards of the table begin; none if the table is not distributed. An insert cannot set
 * `synchronous_commit` on another node, so the role must have it.
 * @throws MigrationError if plants could be lost
 */
export async function findCitusShards({ execute: query, schema }: StorePool): Promise<number[]> {
  const citus = await query(`SELECT FROM pg_extension WHERE extname = 'citus'::name`);
  if (citus.length === 0) return [];
  const table = [tableIn(schema)];
  const shards = await query<{ minHash: number }>(
    `SELECT shardminvalue::float8 AS "minHash" FROM ${SHARDS} ORDER BY 1`,
    table,
  );
  if (shards.length === 0) return [];
  const weak = query<{ found: string }>(
    `SELECT pg_catalog.format('synchronous_commit is %s on node %s:%s: plants could be lost. Run on the coordinator: '
         'ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on',
         result, nodename, nodeport, current_user, current_database()) AS found
     FROM run_command_on_all_nodes('SHOW synchronous_commit'::text) JOIN pg_dist_node USING (nodeid)
     WHERE success AND result NOT IN ('on'::text, 'remote_apply'::text)`,
  );
  const [first] = await weak.catch((error: unknown) => {
    // One node without an answer must not stop the others.
    const advice = 'Check that it is on at every node, or plants could be lost';
    new Logger('Citus').warn(`synchronous_commit of the nodes was not read: ${reasonOf(error)}. ${advice}`);
    return [];
  });
  if (first) throw new MigrationError('refused', first.found);
  return shards.map(({ minHash }) => minHash);
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
