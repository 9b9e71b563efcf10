import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { InsertSkippedError, isUndecided } from '../database/database.errors.js';
import { unforeseenFailure } from '../errors/api-error.js';
import type { Plant as PlantRow } from '../database/generated/client.js'; // made by: npm run prisma:generate
import { PrismaService } from '../database/prisma.service.js';
import { StorePool } from '../database/store-pool.js';
import type { WriteTable } from '../writer/batch-writer.js';
import type { RunInTransaction } from './host-transaction.js';

/** A row of the table. The write id is unique for each create; null in a transaction of the host. */
export type PlantRecord = Omit<PlantRow, 'createdAt'>;

/** The part of the time limit that a statement with several plants may wait for a row lock. */
const LOCK_SHARE = 0.2;

/**
 * The columns of a row, with their names and types. Every statement on plants is made of this list, those
 * for Citus too, and the health check asks for the rights on them.
 */
export const COLUMNS = {
  id: ['id', 'bigint'],
  name: ['name', 'text'],
  tag: ['tag', 'text'],
  idempotencyKey: ['idempotency_key', 'text'],
  createdBy: ['created_by', 'text'],
  writeId: ['write_id', 'bigint'],
} as const satisfies Record<keyof PlantRecord, readonly [column: string, type: 'bigint' | 'text']>;

const FIELDS = Object.keys(COLUMNS) as (keyof PlantRecord)[];
export const COLUMN_NAMES = FIELDS.map((field) => COLUMNS[field][0]).join(', ');
// A prepared statement fails for ever if the type of its result changes with a column. So results are cast.
export const ON_CONFLICT = 'ON CONFLICT (id) DO NOTHING RETURNING write_id::bigint::text AS "writeId"';
// The cast to bigint is for a table whose id is numeric, which has decimal places.
const STORED = FIELDS.map((field) => `${COLUMNS[field][0]}::${COLUMNS[field][1]}::text AS "${field}"`).join(', ');
/**
 * A row can be visible before it is durable. So a look-up writes a message, and its commit waits for the disk after the
 * commit of the row. Without its schema, the name could mean a function of somebody else with exactly these parameters.
 */
const WAL_BARRIER = `(SELECT pg_catalog.pg_logical_emit_message(true, 'plant-store'::text, ''::text)) AS barrier, `;

/**
 * The statements on plants. Ids are sent and read as text, because a host may change how pg parses int8. Arguments have
 * exactly the types of the catalogue, so no function of another schema is called instead.
 */
@Injectable()
export class PlantsRepository implements WriteTable<PlantRecord> {
  protected readonly table: string;
  protected readonly barrier: string = WAL_BARRIER;
  readonly shardOf: (plant: PlantRecord) => number = () => 0;
  private readonly insertOne: string;
  private readonly insertMany: string;

  constructor(
    protected readonly prisma: PrismaService,
    pool: StorePool,
  ) {
    this.table = tableIn(pool.schema);
    const lists = FIELDS.map((field, index) => `$${index + 1}::${COLUMNS[field][1]}[]`).join(', ');
    const lockTimeout = Math.ceil(pool.timeout * LOCK_SHARE);
    this.insertOne = `INSERT INTO ${this.table} (${COLUMN_NAMES}) VALUES (${placeholders(0)}) ${ON_CONFLICT}`;
    // The order of ids prevents deadlocks: two statements could each wait for a row of the other. `unnest` with several
    // lists is syntax, so no other function can replace it. The time limit for locks is local to this statement: one
    // plant that waits for a lock must not hold back the others.
    this.insertMany = `INSERT INTO ${this.table} (${COLUMN_NAMES})
      SELECT ${COLUMN_NAMES}
      FROM (SELECT set_config('lock_timeout'::text, '${lockTimeout}'::text, true)) AS setting,
        unnest(${lists}) WITH ORDINALITY AS plant (${COLUMN_NAMES}, position)
      ORDER BY id, position ${ON_CONFLICT}`;
  }

  /**
   * Stores a plant in a transaction of the host. Returns the stored plant that already has the id. Errors of the host's
   * driver stay unchanged, because the host decides by them what to do with its transaction.
   */
  async createInTransaction(run: RunInTransaction, record: PlantRecord): Promise<PlantRecord | undefined> {
    const stored = await run(this.insertOne, valuesOf({ ...record, writeId: null }));
    if (stored.length > 0) return undefined;
    // The cast to text comes first: some versions of Prisma use the type of the value, others that of the parameter.
    const found = `SELECT ${STORED} FROM ${this.table} WHERE id = $1::text::bigint`;
    const [row] = await run<StoredRow>(found, [String(record.id)]);
    if (!row) throw unforeseenFailure(new InsertSkippedError());
    return recordOf(row);
  }

  isUndecided(error: unknown): boolean {
    return isUndecided(error);
  }

  /** Of several plants with the same id, only the first is inserted. */
  async insert(plants: readonly PlantRecord[]): Promise<string[]> {
    const [first] = plants;
    // A text that is made once costs less than a template of Prisma, and PostgreSQL parses it once for each connection.
    const rows =
      first && plants.length === 1
        ? await this.prisma.$queryRawUnsafe<WrittenRow[]>(this.insertOne, ...valuesOf(first))
        : await this.prisma.$queryRawUnsafe<WrittenRow[]>(this.insertMany, ...listsOf(plants));
    return rows.map(({ writeId }) => writeId);
  }

  async findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, PlantRecord>> {
    const rows = await this.prisma.$queryRawUnsafe<StoredRow[]>(
      `SELECT ${STORED} FROM ${this.barrier}${this.table} WHERE id = ANY($1::bigint[])`,
      arrayOf(plants.map(({ id }) => id)),
    );
    return new Map(rows.map(recordOf).map((record) => [record.id, record]));
  }
}

export function tableIn(schema: string): string {
  return `${pg.escapeIdentifier(schema)}.plants`;
}

/** The parameters of a row, in the order of the columns. @param before how many parameters stand before them */
export function placeholders(before: number): string {
  return FIELDS.map((field, index) => `$${before + index + 1}::text::${COLUMNS[field][1]}`).join(', ');
}

/** The values of a row, in the order of the columns. */
export function valuesOf(plant: PlantRecord): (string | null)[] {
  return FIELDS.map((field) => plant[field]?.toString() ?? null);
}

export interface WrittenRow {
  readonly writeId: string;
}

type StoredRow = Record<keyof PlantRecord, string | null>;

/** The columns of these rows, each as a list. */
function listsOf(plants: readonly PlantRecord[]): string[] {
  return FIELDS.map((field) => arrayOf(plants.map((plant) => plant[field])));
}

/** Writes a list in PostgreSQL's syntax, as pg does. Prisma and pg would take each value in hand by itself. */
function arrayOf(values: readonly (bigint | string | null)[]): string {
  const items = values.map((value) => {
    if (typeof value !== 'string') return value ?? 'NULL';
    return `"${value.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${items.join()}}`;
}

function recordOf(row: StoredRow): PlantRecord {
  const values = FIELDS.map((field) => {
    const text = row[field];
    return [field, text !== null && COLUMNS[field][1] === 'bigint' ? BigInt(text) : text];
  });
  return Object.fromEntries(values) as PlantRecord;
}
