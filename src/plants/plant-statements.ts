import { Injectable } from '@nestjs/common';
import type { QueryValue } from '../prisma/column-query.js';
import { Database, type Query } from '../prisma/database.js';
import { Prisma } from '../prisma/generated/client.js';
import { escapeSchema, PrismaService } from '../prisma/prisma.js';
import { isUndecided } from './storage-failure.js';

/** A row to insert. */
export interface PlantRecord {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly idempotencyKey: string | null;
  /** The name of the creator. */
  readonly createdBy: string | null;
  /** Unique for each create. */
  readonly writeId: bigint;
}

/** A stored row. Its write id is null if a transaction of the host wrote it. */
export type StoredPlant = Omit<PlantRecord, 'createdBy' | 'writeId'> & { readonly writeId: bigint | null };

/** The statements of a writer, for the whole table or for one shard. */
export interface WriterStatements {
  /** How many statements may be in flight. The same number again is allowed while those are slow. */
  readonly pace: number;
  /** Inserts all plants in one statement, or none if it fails. Returns the write ids of those whose ids were free. */
  insert(plants: readonly PlantRecord[]): Promise<string[]>;
  /** Finds the plants with these ids. They are durable when they are returned. */
  findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, StoredPlant>>;
  /** Whether the statement may have been executed although it failed with this error. */
  mayBeStored(error: unknown): boolean;
}

/** The part of the time limit that a statement with several plants may wait for a row lock. */
const LOCK_SHARE = 0.2;
/** While one statement waits for the disk, another one is sent. With more, fewer plants would share a commit. */
const MAX_STATEMENTS = 2;
/** Makes the commit wait for the disk, even if the session does not. A stricter setting stays. */
const WAIT_FOR_DISK = `CASE WHEN current_setting('synchronous_commit'::text) NOT IN ('on'::text, 'remote_apply'::text)
  THEN set_config('synchronous_commit'::text, 'on'::text, true) END`;

/**
 * A row can be visible before it is durable. So a look-up writes a message, and its commit waits for the disk after the
 * commit of the row. The catalogue's function has a parameter with a default: without the prefix, another function with
 * these three alone would match better.
 */
const FENCE = `(SELECT ${WAIT_FOR_DISK},
  pg_catalog.pg_logical_emit_message(true, 'plant-store'::text, ''::text)) AS fence, `;

export const COLUMNS = 'id, write_id, name, tag, idempotency_key, created_by';
// A prepared statement fails for ever if the type of its result changes with a column. So results are cast.
export const RETURNING = 'ON CONFLICT (id) DO NOTHING RETURNING write_id::bigint::text';
// The cast to bigint is for a table whose id is numeric, which has decimal places.
const STORED = `id::bigint::text, write_id::bigint::text AS "writeId", name::text, tag::text, idempotency_key::text AS "idempotencyKey"`;

/**
 * The SQL of the store. Ids are sent and read as text, because a host may change how pg parses int8. Arguments have
 * exactly the types of the catalogue, so no function of another schema is called instead.
 */
@Injectable()
export class PlantStatements implements WriterStatements {
  readonly pace: number = MAX_STATEMENTS;
  /** What a look-up selects from, next to the table. */
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
    // The settings are local to this statement, and are made before the first row is inserted.
    this.insertOneSql = `${this.insertInto} SELECT $1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text
      FROM (SELECT ${WAIT_FOR_DISK}) AS setting ${RETURNING}`;
    const lockTimeout = Math.ceil(database.timeout * LOCK_SHARE);
    // The order of ids prevents deadlocks: two statements could each wait for a row of the other. `unnest` with several
    // lists is syntax, so no other function can replace it.
    this.insertManySql = `${this.insertInto} SELECT ${COLUMNS}
      FROM (SELECT set_config('lock_timeout'::text, '${lockTimeout}'::text, true), ${WAIT_FOR_DISK}) AS setting,
        unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
        WITH ORDINALITY AS plant (${COLUMNS}, position)
      ORDER BY id, position ${RETURNING}`;
  }

  mayBeStored(error: unknown): boolean {
    return isUndecided(error);
  }

  /** Of several plants with the same id, only the first is inserted. */
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

  /** Inserts a plant in a transaction of the host and keeps its settings. Returns false if the id was taken. */
  async insertIn(query: Query, plant: PlantRecord): Promise<boolean> {
    // The cast to text comes first: some versions of Prisma use the type of the value, others that of the parameter.
    const sql = `${this.insertInto} VALUES ($1::text::bigint, NULL, $2::text, $3::text, $4::text, $5::text)
      ON CONFLICT (id) DO NOTHING RETURNING id::bigint::text`;
    const { id, name, tag, idempotencyKey, createdBy } = plant;
    return (await query(sql, [String(id), name, tag, idempotencyKey, createdBy])).length > 0;
  }

  /** Finds the plant with this id, as the transaction of the host sees it. */
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

/** The number of characters of a row. */
export function sizeOf({ name, tag, idempotencyKey, createdBy }: PlantRecord): number {
  return name.length + (tag?.length ?? 0) + (idempotencyKey?.length ?? 0) + (createdBy?.length ?? 0);
}

/** The values of a row, in the order of `COLUMNS`. */
export function valuesOf({ id, writeId, name, tag, idempotencyKey, createdBy }: PlantRecord): QueryValue[] {
  return [String(id), String(writeId), name, tag, idempotencyKey, createdBy];
}
