import { Injectable } from '@nestjs/common';
import { isUndecided, PlantLeftOutError, storageApiError } from '../prisma/database.errors.js';
import { type Plant as PlantRow, Prisma } from '../prisma/generated/client.js';
import { escapeSchema, PrismaService } from '../prisma/prisma.service.js';
import { StorePool } from '../prisma/store-pool.js';
import type { RunInTransaction } from './host-transaction.js';

/** A row of the table. The write id is unique for each create; null in a transaction of the host. */
export type PlantRecord = Omit<PlantRow, 'createdAt'>;

/**
 * The columns of a row, with their names and types. Every statement on plants is made of this list, those for Citus
 * too, and the health check asks for the rights on them.
 */
export const COLUMNS = {
  id: ['id', 'bigint'],
  name: ['name', 'text'],
  tag: ['tag', 'text'],
  idempotencyKey: ['idempotency_key', 'text'],
  createdBy: ['created_by', 'text'],
  writeId: ['write_id', 'bigint'],
} as const satisfies Record<keyof PlantRecord, readonly [column: string, type: 'bigint' | 'text']>;

const RECORD_FIELDS = Object.keys(COLUMNS) as (keyof PlantRecord)[];
export const COLUMN_NAMES = Prisma.raw(RECORD_FIELDS.map((field) => COLUMNS[field][0]).join(', '));
// A prepared statement fails for ever if the type of its result changes with a column. So results are cast.
export const ON_CONFLICT = Prisma.raw('ON CONFLICT (id) DO NOTHING RETURNING write_id::bigint::text AS "writeId"');
// The cast to bigint is for a table whose id is numeric, which has decimal places.
const STORED = Prisma.raw(
  RECORD_FIELDS.map((field) => `${COLUMNS[field][0]}::${COLUMNS[field][1]}::text AS "${field}"`).join(', '),
);

/** The part of the time limit that a statement with several plants may wait for a row lock. */
const LOCK_SHARE = 0.2;
/**
 * A row can be visible before it is durable. So a look-up writes a message, and its commit waits for the disk after the
 * commit of the row. Without its schema, the name could mean a function of somebody else with exactly these parameters.
 */
const WAL_BARRIER = Prisma.raw(
  `(SELECT pg_catalog.pg_logical_emit_message(true, 'plant-store'::text, ''::text)) AS barrier, `,
);

/** The statements of the writer. */
export interface PlantTable {
  /** The shard of a plant. Plants of two shards never share a statement. */
  shardOf(plant: PlantRecord): number;
  /** Inserts all plants in one statement, or none if it fails. Returns the write ids of those whose ids were free. */
  insert(plants: readonly PlantRecord[]): Promise<string[]>;
  /** Finds the plants with these ids. They are durable when they are returned. */
  findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, PlantRecord>>;
  /** Whether the statement may have been executed although it failed with this error. */
  isUndecided(error: unknown): boolean;
}

/**
 * The table of the plants. Ids are sent and read as text, because a host may change how pg parses int8. Arguments have
 * exactly the types of the catalogue, so no function of another schema is called instead.
 */
@Injectable()
export class PlantsRepository implements PlantTable {
  private readonly table: Prisma.Sql;
  private readonly lockTimeout: Prisma.Sql;

  constructor(
    private readonly prisma: PrismaService,
    pool: StorePool,
  ) {
    this.table = tableIn(pool.schema);
    this.lockTimeout = Prisma.raw(String(Math.ceil(pool.timeout * LOCK_SHARE)));
  }

  /**
   * Stores a plant in a transaction of the host. Returns the stored plant that already has the id. Errors of the host's
   * driver stay unchanged, because the host decides by them what to do with its transaction.
   */
  async createInTransaction(run: RunInTransaction, record: PlantRecord): Promise<PlantRecord | undefined> {
    const stored = await run(this.insertOne({ ...record, writeId: null }));
    if (stored.length > 0) return undefined;
    // The cast to text comes first: some versions of Prisma use the type of the value, others that of the parameter.
    const id = Prisma.sql`${String(record.id)}::text::bigint`;
    const [row] = await run<StoredRow>(Prisma.sql`SELECT ${STORED} FROM ${this.table} WHERE id = ${id}`);
    if (!row) throw storageApiError(new PlantLeftOutError());
    return recordOf(row);
  }

  shardOf(): number {
    return 0;
  }

  isUndecided(error: unknown): boolean {
    return isUndecided(error);
  }

  /** Of several plants with the same id, only the first is inserted. */
  async insert(plants: readonly PlantRecord[]): Promise<string[]> {
    const [first] = plants;
    const sql = first && plants.length === 1 ? this.insertOne(first) : this.insertMany(plants);
    const rows = await this.prisma.queryPrepared<{ writeId: string }>(sql);
    return rows.map(({ writeId }) => writeId);
  }

  /** @param barrier selected beside the table; nothing on Citus, where the node itself waits */
  async findExisting(plants: readonly PlantRecord[], barrier = WAL_BARRIER): Promise<ReadonlyMap<bigint, PlantRecord>> {
    const ids = arrayOf(plants.map(({ id }) => id));
    const rows = await this.prisma.queryPrepared<StoredRow>(
      Prisma.sql`SELECT ${STORED} FROM ${barrier}${this.table} WHERE id = ANY(${ids}::bigint[])`,
    );
    return new Map(rows.map(recordOf).map((record) => [record.id, record]));
  }

  private insertOne(plant: PlantRecord): Prisma.Sql {
    return Prisma.sql`INSERT INTO ${this.table} (${COLUMN_NAMES}) VALUES (${valuesOf(plant)}) ${ON_CONFLICT}`;
  }

  /**
   * The order of ids prevents deadlocks: two statements could each wait for a row of the other. `unnest` with several
   * lists is syntax, so no other function can replace it. The time limit for locks is local to this statement: one plant
   * that waits for a lock must not hold back the others.
   */
  private insertMany(plants: readonly PlantRecord[]): Prisma.Sql {
    const lists = RECORD_FIELDS.map((field) => {
      const list = arrayOf(plants.map((plant) => plant[field]));
      return Prisma.sql`${list}::${Prisma.raw(COLUMNS[field][1])}[]`;
    });
    return Prisma.sql`INSERT INTO ${this.table} (${COLUMN_NAMES})
      SELECT ${COLUMN_NAMES}
      FROM (SELECT set_config('lock_timeout'::text, '${this.lockTimeout}'::text, true)) AS setting,
        unnest(${Prisma.join(lists)}) WITH ORDINALITY AS plant (${COLUMN_NAMES}, position)
      ORDER BY id, position ${ON_CONFLICT}`;
  }
}

export function tableIn(schema: string): Prisma.Sql {
  return Prisma.raw(`"${escapeSchema(schema)}"."plants"`);
}

/** The values of a row, in the order of the columns. */
export function valuesOf(plant: PlantRecord): Prisma.Sql {
  const values = RECORD_FIELDS.map(
    (field) => Prisma.sql`${textOf(plant[field])}::text::${Prisma.raw(COLUMNS[field][1])}`,
  );
  return Prisma.join(values);
}

/** The number of characters of a row. */
export function sizeOf(plant: PlantRecord): number {
  return RECORD_FIELDS.reduce((size, field) => size + (typeof plant[field] === 'string' ? plant[field].length : 0), 0);
}

type StoredRow = Record<keyof PlantRecord, string | null>;

function textOf(value: bigint | string | null | undefined): string | null {
  return value?.toString() ?? null;
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
  const values = RECORD_FIELDS.map((field) => {
    const text = row[field];
    return [field, text !== null && COLUMNS[field][1] === 'bigint' ? BigInt(text) : text];
  });
  return Object.fromEntries(values) as PlantRecord;
}
