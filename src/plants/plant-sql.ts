import { Injectable } from '@nestjs/common';
import { Database, PrismaService } from '../database/database.js';
import { Prisma } from '../database/generated/client.js';
import { escapeSchema } from '../database/prisma-adapter.js';

/** A plant as it is stored. */
export interface PlantRecord {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** The `Idempotency-Key` of the request that created it. */
  readonly idempotencyKey: string | null;
  /** The name of who created it, where that is known. */
  readonly createdBy: string | null;
}

/** The part of the time that a statement with several plants may wait for the lock of a row. */
const LOCK_SHARE = 0.2;

interface StoredId {
  id: string;
}

/** The SQL of the store. Ids go to and fro as text: pg turns numbers into whatever the application has told it to. */
@Injectable()
export class PlantStatements {
  private readonly table: string;
  private readonly insertOneSql: string;
  private readonly insertManySql: string;
  private readonly lockTimeout: string;

  constructor(
    private readonly database: Database,
    private readonly prisma: PrismaService,
  ) {
    this.table = `"${escapeSchema(database.schema)}"."plants"`;
    const insert = `INSERT INTO ${this.table} (id, name, tag, idempotency_key, created_by)`;
    this.insertOneSql = `${insert} VALUES ($1::bigint, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING RETURNING id::text`;
    // In the order of their ids, or two statements could each wait for a row of the other. The lock timeout is set before
    // the first row goes in, and for this statement alone.
    this.insertManySql = `${insert}
      SELECT id, name, tag, idempotency_key, created_by
      FROM (SELECT set_config('lock_timeout', $6, true)) AS setting,
        unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
          WITH ORDINALITY AS plant (id, name, tag, idempotency_key, created_by, position)
      ORDER BY id, position
      ON CONFLICT (id) DO NOTHING RETURNING id::text`;
    this.lockTimeout = String(Math.ceil(database.timeout * LOCK_SHARE));
  }

  /**
   * Inserts plants in one statement: all of them or, where it fails, none. Returns the ids that were not taken; of several
   * plants with one id the first is inserted.
   */
  async insert(plants: readonly PlantRecord[]): Promise<string[]> {
    const [only, ...others] = plants;
    const rows = await (only && others.length === 0 ? this.insertOne(only) : this.insertMany(plants));
    return rows.map(({ id }) => id);
  }

  private insertOne({ id, name, tag, idempotencyKey, createdBy }: PlantRecord): Promise<StoredId[]> {
    return this.database.query(this.insertOneSql, [String(id), name, tag, idempotencyKey, createdBy]);
  }

  private insertMany(plants: readonly PlantRecord[]): Promise<StoredId[]> {
    return this.database.query(this.insertManySql, [
      plants.map(({ id }) => String(id)),
      plants.map(({ name }) => name),
      plants.map(({ tag }) => tag),
      plants.map(({ idempotencyKey }) => idempotencyKey),
      plants.map(({ createdBy }) => createdBy),
      this.lockTimeout,
    ]);
  }

  /** The plants that hold these ids, by id. */
  async findHolders(ids: readonly bigint[]): Promise<Map<bigint, PlantRecord>> {
    const rows = await this.prisma.$queryRaw<(Omit<PlantRecord, 'id'> & { id: string })[]>`
      SELECT id::text, name, tag, idempotency_key AS "idempotencyKey", created_by AS "createdBy"
      FROM ${Prisma.raw(this.table)} WHERE id = ANY(${ids.map(String)}::bigint[])`;
    return new Map(rows.map(({ id, ...plant }) => [BigInt(id), { id: BigInt(id), ...plant }]));
  }
}

/** What became of a create: the plant is stored, durably, or its id was taken and nothing was written. */
export interface CreateResult {
  readonly stored: boolean;
  /** The plant that holds the id: where it is taken, and the create has an idempotency key to compare. */
  readonly holder?: PlantRecord;
}
