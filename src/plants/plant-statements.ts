import { Injectable } from '@nestjs/common';
import type { QueryValue } from '../database/column-query.js';
import { Database, type Query } from '../database/database.js';
import { Prisma } from '../database/generated/client.js';
import { escapeSchema, PrismaService } from '../database/prisma.js';
import { isUndecided } from './storage-failure.js';

/** What is written of a plant. */
export interface PlantRecord {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly idempotencyKey: string | null;
  /** The name of its creator. */
  readonly createdBy: string | null;
  /** Different for each create. */
  readonly writeId: bigint;
}

/** What is read of a plant. Its write id is null if a transaction of the host's wrote it. */
export type StoredPlant = Omit<PlantRecord, 'createdBy' | 'writeId'> & { readonly writeId: bigint | null };

/** The statements that a writer sends: for the whole table, or for one shard. */
export interface WriterStatements {
  /** Statements that may be in flight, and as many more while those are slow. */
  readonly pace: number;
  /** Inserts plants in one statement, all or, if it fails, none. Returns the write ids of those that it has stored: their ids were free. */
  insert(plants: readonly PlantRecord[]): Promise<string[]>;
  /** The plants that have these ids, durable by the time they are returned. */
  findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, StoredPlant>>;
  /** Whether a statement that failed in this way may have been carried out. */
  mayBeStored(error: unknown): boolean;
}

/** Share of the time limit that a statement with several plants may wait for the lock of a row. */
const LOCK_SHARE = 0.2;
/** Statements in flight: while one waits for the disk, another is sent. With more, fewer plants would share each commit. */
const MAX_STATEMENTS = 2;
/** Makes the commit of its statement wait for the disk, whatever the session's setting is. A stricter one stays. */
const WAIT_FOR_DISK = `CASE WHEN current_setting('synchronous_commit'::text) NOT IN ('on'::text, 'remote_apply'::text)
  THEN set_config('synchronous_commit'::text, 'on'::text, true) END`;

/**
 * A row can be seen before it is durable. So a look-up writes a message: its own commit then waits for the disk, behind that of the row.
 * With the prefix, as another function could match better where a parameter is left to its default.
 */
const FENCE = `(SELECT ${WAIT_FOR_DISK},
  pg_catalog.pg_logical_emit_message(true, 'plant-store'::text, ''::text)) AS fence, `;

export const COLUMNS = 'id, write_id, name, tag, idempotency_key, created_by';
// Casts: a prepared statement fails for ever if the type of a result changes with that of a column.
export const RETURNING = 'ON CONFLICT (id) DO NOTHING RETURNING write_id::bigint::text';
// A numeric id has decimal places.
const STORED = `id::bigint::text, write_id::bigint::text AS "writeId", name::text, tag::text, idempotency_key::text AS "idempotencyKey"`;

/**
 * The SQL of the store. Ids are sent and read as text: a host may have changed what pg makes of an int8. Arguments have exactly the types of
 * the catalogue's functions, so that no function of others takes their place.
 */
@Injectable()
export class PlantStatements implements WriterStatements {
  readonly pace: number = MAX_STATEMENTS;
  /** Read beside the table by a look-up. */
  protected readonly fence: string = FENCE;
  private readonly table: string;
  protected readonly insertInto: string;
  private readonly insertOneSql: string;
  private readonly insertManySql: string;

  constructor(
    protected readonly database: Database,
    private readonly prisma: PrismaService,
  ) {
    this.table = `"${escapeSchema(database.schema)}"."plants"`;
    this.insertInto = `INSERT INTO ${this.table} (${COLUMNS})`;
    // The settings are made before the first row goes in, and for this statement alone.
    this.insertOneSql = `${this.insertInto} SELECT $1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text
      FROM (SELECT ${WAIT_FOR_DISK}) AS setting ${RETURNING}`;
    const lockTimeout = Math.ceil(database.timeout * LOCK_SHARE);
    // In the order of their ids, or two statements could each wait for a row of the other. `unnest` of several lists is syntax, for
    // which no function of others can stand in.
    this.insertManySql = `${this.insertInto} SELECT ${COLUMNS}
      FROM (SELECT set_config('lock_timeout'::text, '${lockTimeout}'::text, true), ${WAIT_FOR_DISK}) AS setting,
        unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
        WITH ORDINALITY AS plant (${COLUMNS}, position)
      ORDER BY id, position ${RETURNING}`;
  }

  mayBeStored(error: unknown): boolean {
    return isUndecided(error);
  }

  /** Of several plants with one id the first is inserted. */
  insert(plants: readonly PlantRecord[]): Promise<string[]> {
    const [first] = plants;
    if (first && plants.length === 1) return this.database.queryColumn(this.insertOneSql, valuesOf(first));
    return this.database.queryColumn(this.insertManySql, [
      plants.map(({ id }) => String(id)),
      plants.map(({ writeId }) => String(writeId)),
      plants.map(({ name }) => name),
      plants.map(({ tag }) => tag),
      plants.map(({ idempotencyKey }) => idempotencyKey),
      plants.map(({ createdBy }) => createdBy),
    ]);
  }

  async findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, StoredPlant>> {
    const ids = plants.map(({ id }) => String(id));
    const select = Prisma.raw(`SELECT ${STORED} FROM ${this.fence}${this.table}`);
    const rows = await this.prisma.$queryRaw<StoredRow[]>`${select} WHERE id = ANY(${ids}::bigint[])`;
    return new Map(rows.map((row) => [BigInt(row.id), plantOf(row)]));
  }

  /** Inserts a plant in a transaction of the host's, whose settings stay as they are. Returns whether its id was not taken. */
  async insertIn(query: Query, plant: PlantRecord): Promise<boolean> {
    // Text first: some versions of Prisma go by the type of a value, others by that of the parameter.
    const sql = `${this.insertInto} VALUES ($1::text::bigint, NULL, $2::text, $3::text, $4::text, $5::text)
      ON CONFLICT (id) DO NOTHING RETURNING id::bigint::text`;
    const { id, name, tag, idempotencyKey, createdBy } = plant;
    return (await query(sql, [String(id), name, tag, idempotencyKey, createdBy])).length > 0;
  }

  /** The stored plant that has this id, as a transaction of the host's sees it. */
  async findExistingIn(query: Query, id: bigint): Promise<StoredPlant | undefined> {
    const sql = `SELECT ${STORED} FROM ${this.table} WHERE id = $1::text::bigint`;
    const [row] = await query<StoredRow>(sql, [String(id)]);
    return row && plantOf(row);
  }
}

type StoredRow = Omit<StoredPlant, 'id' | 'writeId'> & { readonly id: string; readonly writeId: string | null };

function plantOf({ id, writeId, ...texts }: StoredRow): StoredPlant {
  return { ...texts, id: BigInt(id), writeId: writeId === null ? null : BigInt(writeId) };
}

/** Characters of a plant. */
export function sizeOf({ name, tag, idempotencyKey, createdBy }: PlantRecord): number {
  return name.length + (tag?.length ?? 0) + (idempotencyKey?.length ?? 0) + (createdBy?.length ?? 0);
}

/** The parameters of one row, in the order of the columns. */
export function valuesOf({ id, writeId, name, tag, idempotencyKey, createdBy }: PlantRecord): QueryValue[] {
  return [String(id), String(writeId), name, tag, idempotencyKey, createdBy];
}
