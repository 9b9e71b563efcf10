import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Database, PrismaService, type Query, type QueryValue } from '../database/database.js';
import { type Plant as PlantRow, Prisma } from '../database/generated/client.js';
import { escapeSchema } from '../database/prisma-adapter.js';
import { FIELD_NAMES, type NewPlant } from './new-plant.js';

/** What a plant is stored with besides its id: its fields, the `Idempotency-Key`, and the name of its creator. */
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

/** A number for the plants of one statement, small enough to count them from there within 64 bits. */
export function randomWriteId(): bigint {
  return randomBytes(8).readBigInt64BE() >> 1n;
}

/** The part of the time that a statement with several plants may wait for the lock of a row. */
const LOCK_SHARE = 0.2;
/**
 * Lets the commit of the statement that it is in wait for the disk. Neither a pooler nor a host can be relied on to keep a
 * setting of the session. What waits for more stays.
 */
const WAIT_FOR_DISK = `CASE WHEN pg_catalog.current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
  THEN pg_catalog.set_config('synchronous_commit', 'on', true) END`;

interface StoredId {
  id: string;
}

/** The SQL of the store. Ids are sent and read as text: a host may have changed what pg makes of an int8. */
@Injectable()
export class PlantStatements {
  private readonly insertOneSql: string;
  private readonly insertManySql: string;
  private readonly select: Prisma.Sql;
  private readonly selectUnfenced: Prisma.Sql;
  private readonly insertShardSql: (size: number) => string;
  private readonly probeSql: string;
  private readonly insertPlainSql: string;
  private readonly selectPlainSql: string;
  private readonly lockTimeout: string;
  /** By their number of rows. */
  private readonly shardSqls = new Map<number, string>();

  constructor(
    private readonly database: Database,
    private readonly prisma: PrismaService,
  ) {
    const table = `"${escapeSchema(database.schema)}"."plants"`;
    const columns = TEXT_COLUMNS.map((property) => `"${columnOf(property)}"`).join(', ');
    const parameters = (first: number, type = 'text'): string =>
      TEXT_COLUMNS.map((_, index) => `$${first + index}::${type}`).join(', ');
    const insert = `INSERT INTO ${table} (id, write_id, ${columns})`;
    // Casts: a prepared statement fails for ever if the type of a result changes with that of a column. A numeric id has places.
    const returning = 'ON CONFLICT (id) DO NOTHING RETURNING id::bigint::text';
    // The settings are made before the first row goes in, and for this statement alone.
    this.insertOneSql = `${insert}
      SELECT $1::bigint, $2::bigint, ${parameters(3)}
      FROM (SELECT ${WAIT_FOR_DISK}) AS setting
      ${returning}`;
    // In the order of their ids, or two statements could each wait for a row of the other. `unnest` of several lists is grammar, and
    // always the catalogue's.
    this.insertManySql = `${insert}
      SELECT id, $3::bigint + position - 1, ${columns}
      FROM (SELECT pg_catalog.set_config('lock_timeout', $1, true), ${WAIT_FOR_DISK}) AS setting,
        unnest($2::bigint[], ${parameters(4, 'text[]')}) WITH ORDINALITY AS plant (id, ${columns}, position)
      ORDER BY id, position
      ${returning}`;
    const properties = TEXT_COLUMNS.map((property) => `"${columnOf(property)}"::text AS "${property}"`).join(', ');
    // The message gives the transaction something to commit. As it commits after those whose rows it sees, they are then as
    // durable as this one: a row can be visible before, after a crash or a wait for a standby that was cancelled.
    const select = `SELECT id::bigint::text, write_id::bigint::text AS "writeId", ${properties} FROM`;
    this.select = Prisma.raw(`
      ${select} (SELECT ${WAIT_FOR_DISK}, pg_catalog.pg_logical_emit_message(true, 'plant-store', '')) AS fence, ${table}`);
    // A message would be written where the statement arrives, and so would be no fence for the node of the shard.
    this.selectUnfenced = Prisma.raw(`${select} ${table}`);
    // Only as rows of constants does it go to its shard as it is, and is committed there: one with a sub-select, for a setting,
    // would be carried out on this node, and committed in two phases.
    const casts = ['bigint', 'bigint', ...TEXT_COLUMNS.map(() => 'text')];
    const rowOf = (_: unknown, row: number): string =>
      `(${casts.map((type, index) => `$${row * casts.length + index + 1}::${type}`).join(', ')})`;
    this.insertShardSql = (size) => `${insert} VALUES ${Array.from({ length: size }, rowOf).join(', ')} ${returning}`;
    this.probeSql = `${insert} SELECT id, write_id, ${columns} FROM ${table} WHERE name IS NULL AND id =`;
    // For a transaction of the host's, whose settings stay as they are. Text first: some versions of Prisma go by the type of a
    // value, others by that of the parameter.
    this.insertPlainSql = `${insert} VALUES ($1::text::bigint, NULL, ${parameters(2)}) ${returning}`;
    this.selectPlainSql = `SELECT ${properties} FROM ${table} WHERE id = $1::text::bigint`;
    this.lockTimeout = String(Math.ceil(database.timeout * LOCK_SHARE));
  }

  /**
   * Inserts plants in one statement: all of them or, where it fails, none. Returns the ids that were not taken; of several
   * plants with one id the first is inserted.
   *
   * @param writeId stored with the first plant; those of the others count on from there
   * @param isShard whether all belong to one shard of a distributed table
   */
  async insert(plants: readonly PlantRecord[], writeId: bigint, isShard: boolean): Promise<string[]> {
    const [first] = plants;
    const rows = await (isShard
      ? this.insertIntoShard(plants, writeId)
      : first && plants.length === 1
        ? this.database.query<StoredId>(this.insertOneSql, valuesOf(first, writeId))
        : this.insertMany(plants, writeId));
    return rows.map(({ id }) => id);
  }

  private insertMany(plants: readonly PlantRecord[], writeId: bigint): Promise<StoredId[]> {
    const values: QueryValue[] = [this.lockTimeout, plants.map(({ id }) => String(id)), String(writeId)];
    for (const column of TEXT_COLUMNS) values.push(plants.map((plant) => plant[column]));
    return this.database.query(this.insertManySql, values);
  }

  /** In a few sizes, so that there are few statements to prepare: the shortest plant is repeated. */
  private insertIntoShard(plants: readonly PlantRecord[], writeId: bigint): Promise<StoredId[]> {
    const rows = plants.map((plant, index) => ({ plant, writeId: writeId + BigInt(index) }));
    const shortest = rows.reduce((one, other) => (sizeOf(other.plant) < sizeOf(one.plant) ? other : one));
    // In the order of their ids, as above; the first of several with one id stays the first.
    rows.sort(({ plant: { id: one } }, { plant: { id: other } }) => (one < other ? -1 : Number(one > other)));
    const size = paddedSize(rows.length);
    while (rows.length < size) rows.push(shortest);
    const values = rows.flatMap(({ plant, writeId }) => valuesOf(plant, writeId));
    let sql = this.shardSqls.get(size);
    if (sql === undefined) this.shardSqls.set(size, (sql = this.insertShardSql(size)));
    return this.database.query(sql, values);
  }

  /** Writes nothing, and succeeds where a create in the shard of this id can. */
  async probe(id: bigint): Promise<void> {
    await this.database.query(`${this.probeSql} ${id}`);
  }

  /**
   * The stored plants that have these ids, by id: durable by the time they are returned, even if another stored them.
   * In a shard they are as durable as their node made them before it showed them.
   */
  async findExisting(ids: readonly bigint[], isShard: boolean): Promise<Map<bigint, StoredPlant>> {
    type Row = Omit<StoredPlant, 'id' | 'writeId'> & StoredId & { writeId: string | null };
    const rows = await this.prisma.$queryRaw<Row[]>`
      ${isShard ? this.selectUnfenced : this.select} WHERE id = ANY(${ids.map(String)}::bigint[])`;
    return new Map(
      rows.map(({ id, writeId, ...texts }) => [
        BigInt(id),
        { ...texts, id: BigInt(id), writeId: writeId === null ? null : BigInt(writeId) },
      ]),
    );
  }

  /** Inserts a plant in a transaction of the host's; returns whether its id was not taken. */
  async insertIn(query: Query, plant: PlantRecord): Promise<boolean> {
    const values = [String(plant.id), ...TEXT_COLUMNS.map((column) => plant[column])];
    return (await query<StoredId>(this.insertPlainSql, values)).length > 0;
  }

  /** The stored plant that has this id, as a transaction of the host's sees it. */
  async findExistingIn(query: Query, id: bigint): Promise<PlantRecord | undefined> {
    const [texts] = await query<Omit<PlantRecord, 'id'>>(this.selectPlainSql, [String(id)]);
    return texts && { ...texts, id };
  }
}

function valuesOf(plant: PlantRecord, writeId: bigint): QueryValue[] {
  const values: QueryValue[] = [String(plant.id), String(writeId)];
  for (const column of TEXT_COLUMNS) values.push(plant[column]);
  return values;
}

/** The next power of two, or one and a half times one: a statement then has a fifth too many rows at most, as a rule. */
function paddedSize(rows: number): number {
  const power = 2 ** Math.ceil(Math.log2(rows));
  return rows <= power * 0.75 && power > 2 ? power * 0.75 : power;
}

/** As `@map` of the Prisma schema has it. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
