import { Injectable } from '@nestjs/common';
import { Database, PrismaService, type QueryValue } from '../database/database.js';
import { type Plant, Prisma } from '../database/generated/client.js';
import { escapeSchema } from '../database/prisma-adapter.js';
import { FIELD_NAMES, type NewPlant } from './new-plant.js';

/** What a plant is stored with besides its id: its fields, the `Idempotency-Key`, and the name of its creator. */
type TextColumn = Exclude<keyof Plant, 'id' | 'createdAt'>;

/** A plant as it is stored. */
export type PlantRecord = Readonly<{ id: bigint } & Record<TextColumn, string | null>>;

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

/** The part of the time that a statement with several plants may wait for the lock of a row. */
const LOCK_SHARE = 0.2;

interface StoredId {
  id: string;
}

/** The SQL of the store. Ids are sent and read as text: a host may have changed what pg makes of an int8. */
@Injectable()
export class PlantStatements {
  private readonly insertOneSql: string;
  private readonly insertManySql: string;
  private readonly select: Prisma.Sql;
  private readonly lockTimeout: string;

  constructor(
    private readonly database: Database,
    private readonly prisma: PrismaService,
  ) {
    const table = `"${escapeSchema(database.schema)}"."plants"`;
    const columns = TEXT_COLUMNS.map((property) => `"${columnOf(property)}"`).join(', ');
    const values = TEXT_COLUMNS.map((_, index) => `$${index + 2}`).join(', ');
    const arrays = TEXT_COLUMNS.map((_, index) => `$${index + 3}::text[]`).join(', ');
    const insert = `INSERT INTO ${table} (id, ${columns})`;
    const returning = 'ON CONFLICT (id) DO NOTHING RETURNING id::text';
    this.insertOneSql = `${insert} VALUES ($1::bigint, ${values}) ${returning}`;
    // In the order of their ids, or two statements could each wait for a row of the other. The lock timeout is set before
    // the first row goes in, and for this statement alone.
    this.insertManySql = `${insert}
      SELECT id, ${columns}
      FROM (SELECT set_config('lock_timeout', $1, true)) AS setting,
        unnest($2::bigint[], ${arrays}) WITH ORDINALITY AS plant (id, ${columns}, position)
      ORDER BY id, position
      ${returning}`;
    const properties = TEXT_COLUMNS.map((property) => `"${columnOf(property)}" AS "${property}"`).join(', ');
    this.select = Prisma.raw(`SELECT id::text, ${properties} FROM ${table}`);
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

  private insertOne(plant: PlantRecord): Promise<StoredId[]> {
    const values: QueryValue[] = [String(plant.id)];
    for (const column of TEXT_COLUMNS) values.push(plant[column]);
    return this.database.query(this.insertOneSql, values);
  }

  private insertMany(plants: readonly PlantRecord[]): Promise<StoredId[]> {
    const values: QueryValue[] = [this.lockTimeout, plants.map(({ id }) => String(id))];
    for (const column of TEXT_COLUMNS) values.push(plants.map((plant) => plant[column]));
    return this.database.query(this.insertManySql, values);
  }

  /** The stored plants that have these ids, by id. */
  async findExisting(ids: readonly bigint[]): Promise<Map<bigint, PlantRecord>> {
    const rows = await this.prisma.$queryRaw<(Omit<PlantRecord, 'id'> & StoredId)[]>`
      ${this.select} WHERE id = ANY(${ids.map(String)}::bigint[])`;
    return new Map(rows.map((row) => [BigInt(row.id), { ...row, id: BigInt(row.id) }]));
  }
}

/** As `@map` of the Prisma schema has it. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
