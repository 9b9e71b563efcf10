import { Injectable } from '@nestjs/common';
import type { QueryValue } from '../database/column-query.js';
import { Database, PrismaService, type Query } from '../database/database.js';
import { type Plant as PlantRow, Prisma } from '../database/generated/client.js';
import { escapeSchema } from '../database/prisma-adapter.js';
import { FIELD_NAMES, type NewPlant } from './new-plant.js';

/** What is stored of a plant in addition to its id: its fields, the `Idempotency-Key`, and the name of its creator. */
type TextColumn = Exclude<keyof PlantRow, 'id' | 'createdAt' | 'writeId'>;

/** What is written of a plant. */
export type PlantRecord = Readonly<{ id: bigint } & Record<TextColumn, string | null>>;

/** A plant as it is stored. Its write id is null if a transaction of the host's wrote it, or a version without. */
export type StoredPlant = PlantRecord & { readonly writeId: bigint | null };

/** In the order of the parameters of a statement. */
export const TEXT_COLUMNS: readonly TextColumn[] = [...FIELD_NAMES, 'idempotencyKey', 'createdBy'];

export function toRecord(plant: NewPlant, idempotencyKey?: string, createdBy?: string): PlantRecord {
  const record: { id: bigint } & Partial<Record<TextColumn, string | null>> = {
    id: plant.id,
    idempotencyKey: idempotencyKey ?? null,
    createdBy: createdBy ?? null,
  };
  for (const name of FIELD_NAMES) record[name] = plant[name] ?? null;
  return record as PlantRecord;
}

/** Characters of a plant. */
export function sizeOf(plant: PlantRecord): number {
  let size = 0;
  for (const column of TEXT_COLUMNS) size += plant[column]?.length ?? 0;
  return size;
}

/** The part of the time that a statement with several plants may wait for the lock of a row. */
const LOCK_SHARE = 0.2;
/**
 * Makes the commit of its statement wait for the disk. Behind a pooler or in a host, a setting of the session could be lost. A
 * stricter setting stays.
 */
const WAIT_FOR_DISK = `CASE WHEN pg_catalog.current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
  THEN pg_catalog.set_config('synchronous_commit', 'on', true) END`;

/** Quoted, in the order of the parameters of a statement. */
const TEXT_NAMES = TEXT_COLUMNS.map((property) => `"${columnOf(property)}"`).join(', ');
export const COLUMNS = `id, write_id, ${TEXT_NAMES}`;
const AS_TEXTS = TEXT_COLUMNS.map((property) => `"${columnOf(property)}"::text AS "${property}"`).join(', ');
// Casts: a prepared statement fails for ever if the type of a result changes with that of a column. A numeric id has places.
export const RETURNING_ID = 'ON CONFLICT (id) DO NOTHING RETURNING id::bigint::text';

function parametersFrom(first: number, type = 'text'): string {
  return TEXT_COLUMNS.map((_, index) => `$${first + index}::${type}`).join(', ');
}

/** The SQL of the store. Ids are sent and read as text: a host may have changed what pg makes of an int8. */
@Injectable()
export class PlantStatements {
  readonly table: string;
  /** The beginning of every insert. */
  readonly insertInto: string;
  /** The beginning of every look-up, which goes on with what it reads from. */
  readonly select = `SELECT id::bigint::text, write_id::bigint::text AS "writeId", ${AS_TEXTS} FROM`;
  private readonly insertOneSql: string;
  private readonly insertManySql: string;
  private readonly selectDurable: string;
  private readonly lockTimeout: string;

  constructor(
    private readonly database: Database,
    private readonly prisma: PrismaService,
  ) {
    this.table = `"${escapeSchema(database.schema)}"."plants"`;
    this.insertInto = `INSERT INTO ${this.table} (${COLUMNS})`;
    // The settings are made before the first row goes in, and for this statement alone.
    this.insertOneSql = `${this.insertInto}
      SELECT $1::bigint, $2::bigint, ${parametersFrom(3)}
      FROM (SELECT ${WAIT_FOR_DISK}) AS setting
      ${RETURNING_ID}`;
    // In the order of their ids, or two statements could each wait for a row of the other. `unnest` of several lists is grammar, and
    // always the catalogue's.
    this.insertManySql = `${this.insertInto}
      SELECT id, $3::bigint + position - 1, ${TEXT_NAMES}
      FROM (SELECT pg_catalog.set_config('lock_timeout', $1, true), ${WAIT_FOR_DISK}) AS setting,
        unnest($2::bigint[], ${parametersFrom(4, 'text[]')}) WITH ORDINALITY AS plant (id, ${TEXT_NAMES}, position)
      ORDER BY id, position
      ${RETURNING_ID}`;
    // The message gives the transaction something to commit. It commits after the transactions whose rows it sees, so these are as
    // durable as this one: a row can be visible before, after a crash or a wait for a standby that was cancelled.
    this.selectDurable = `${this.select}
      (SELECT ${WAIT_FOR_DISK}, pg_catalog.pg_logical_emit_message(true, 'plant-store', '')) AS fence, ${this.table}`;
    this.lockTimeout = String(Math.ceil(database.timeout * LOCK_SHARE));
  }

  /**
   * Inserts plants in one statement: all of them or, if it fails, none. Returns the ids that were not taken; of several
   * plants with one id the first is inserted.
   *
   * @param writeId stored with the first plant; those of the others count on from there
   */
  insert(plants: readonly PlantRecord[], writeId: bigint): Promise<string[]> {
    const [first] = plants;
    if (first && plants.length === 1) return this.database.queryColumn(this.insertOneSql, valuesOf(first, writeId));
    const values: QueryValue[] = [this.lockTimeout, plants.map(({ id }) => String(id)), String(writeId)];
    for (const column of TEXT_COLUMNS) values.push(plants.map((plant) => plant[column]));
    return this.database.queryColumn(this.insertManySql, values);
  }

  /** The stored plants that have the ids of these, by id: durable by the time they are returned, even if another stored them. */
  findExisting(plants: readonly PlantRecord[]): Promise<Map<bigint, StoredPlant>> {
    return this.findBy(plants, this.selectDurable);
  }

  /** The same with the beginning of a look-up. */
  async findBy(plants: readonly PlantRecord[], select: string): Promise<Map<bigint, StoredPlant>> {
    type Row = Omit<StoredPlant, 'id' | 'writeId'> & { id: string; writeId: string | null };
    const ids = plants.map(({ id }) => String(id));
    const rows = await this.prisma.$queryRaw<Row[]>`${Prisma.raw(select)} WHERE id = ANY(${ids}::bigint[])`;
    return new Map(
      rows.map(({ id, writeId, ...texts }) => [
        BigInt(id),
        { ...texts, id: BigInt(id), writeId: writeId === null ? null : BigInt(writeId) },
      ]),
    );
  }

  /** Inserts a plant in a transaction of the host's; returns whether its id was not taken. */
  async insertIn(query: Query, plant: PlantRecord): Promise<boolean> {
    // Its settings stay as they are. Text first: some versions of Prisma go by the type of a value, others by that of the parameter.
    const sql = `${this.insertInto} VALUES ($1::text::bigint, NULL, ${parametersFrom(2)}) ${RETURNING_ID}`;
    const values = [String(plant.id), ...TEXT_COLUMNS.map((column) => plant[column])];
    return (await query(sql, values)).length > 0;
  }

  /** The stored plant that has this id, as a transaction of the host's sees it. */
  async findExistingIn(query: Query, id: bigint): Promise<PlantRecord | undefined> {
    const sql = `SELECT ${AS_TEXTS} FROM ${this.table} WHERE id = $1::text::bigint`;
    const [texts] = await query<Omit<PlantRecord, 'id'>>(sql, [String(id)]);
    return texts && { ...texts, id };
  }
}

/** The parameters of one row. */
export function valuesOf(plant: PlantRecord, writeId: bigint): QueryValue[] {
  const values: QueryValue[] = [String(plant.id), String(writeId)];
  for (const column of TEXT_COLUMNS) values.push(plant[column]);
  return values;
}

/** As `@map` of the Prisma schema has it. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
