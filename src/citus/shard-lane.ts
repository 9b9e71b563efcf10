import { afterRelease, DatabaseUnreachableError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import type { Lane } from '../plants/lanes.js';
import {
  COLUMNS,
  type PlantRecord,
  type PlantStatements,
  RETURNING_ID,
  sizeOf,
  type StoredPlant,
  TEXT_COLUMNS,
  valuesOf,
} from '../plants/plant-sql.js';
import { isNodeFailure } from '../plants/storage-failure.js';

/** A node is checked if a statement for it takes longer. */
const SUSPECT_MS = 1000;
const CASTS = ['bigint', 'bigint', ...TEXT_COLUMNS.map(() => 'text')];

/** A server that holds shards. */
export class ShardNode {
  /** Why it takes no creates; undefined while it is not known to fail. */
  failure: unknown;
  /** Statements that create plants in its shards now. */
  inFlight = 0;
  probe: Promise<void> | undefined;

  /** @param name its host and port */
  constructor(readonly name: string) {}

  get isAway(): boolean {
    return this.failure !== undefined;
  }
}

/** Knows which nodes answer. */
export interface NodeMonitor {
  check(node: ShardNode): Promise<unknown>;
  markAway(node: ShardNode, failure: unknown): void;
}

/** The SQL for one shard. */
export class ShardStatements {
  private readonly probeSql: string;
  /** By their number of rows. */
  private readonly insertSqls = new Map<number, string>();

  constructor(
    private readonly statements: PlantStatements,
    private readonly database: Database,
  ) {
    this.probeSql = `${statements.insertInto} SELECT ${COLUMNS} FROM ${statements.table} WHERE name IS NULL AND id =`;
  }

  /** As PlantStatements has it. In a few sizes, so that there are few statements to prepare: the shortest plant is repeated. */
  insert(plants: readonly PlantRecord[], writeId: bigint): Promise<string[]> {
    const rows = plants.map((plant, index) => ({ plant, writeId: writeId + BigInt(index) }));
    const shortest = rows.reduce((one, other) => (sizeOf(other.plant) < sizeOf(one.plant) ? other : one));
    // In the order of their ids, or two statements could each wait for a row of the other; the first of several with one id stays first.
    rows.sort(({ plant: { id: one } }, { plant: { id: other } }) => (one < other ? -1 : Number(one > other)));
    const size = paddedSize(rows.length);
    while (rows.length < size) rows.push(shortest);
    const values = rows.flatMap(({ plant, writeId }) => valuesOf(plant, writeId));
    return this.database.queryColumn(this.insertSql(size), values);
  }

  /** Their node made them durable before it showed them. There is no fence: it would be written on the node that gets the statement. */
  findExisting(plants: readonly PlantRecord[]): Promise<Map<bigint, StoredPlant>> {
    return this.statements.findBy(plants, `${this.statements.select} ${this.statements.table}`);
  }

  /** Writes nothing, and succeeds if a create in the shard of this id can. */
  async probe(id: bigint): Promise<void> {
    await this.database.query(`${this.probeSql} ${id}`);
  }

  /**
   * It goes to its shard unchanged, and is committed there, only if its rows are constants. With a sub-select, for a setting, it
   * would run on this node, and be committed in two phases.
   */
  private insertSql(size: number): string {
    let sql = this.insertSqls.get(size);
    if (sql === undefined) {
      const rowOf = (_: unknown, row: number): string =>
        `(${CASTS.map((type, index) => `$${row * CASTS.length + index + 1}::${type}`).join(', ')})`;
      const rows = Array.from({ length: size }, rowOf).join(', ');
      this.insertSqls.set(size, (sql = `${this.statements.insertInto} VALUES ${rows} ${RETURNING_ID}`));
    }
    return sql;
  }
}

/** The next power of two, or one and a half times one: a statement then has a fifth too many rows at most, as a rule. */
function paddedSize(rows: number): number {
  const power = 2 ** Math.ceil(Math.log2(rows));
  return rows <= power * 0.75 && power > 2 ? power * 0.75 : power;
}

/** The way to a part of the table, on one node. */
export class ShardLane implements Lane {
  fast = 0;
  // While a statement of one shard waits for the disk, those of the others are sent.
  readonly maxFast = 1;

  /** @param minHash the smallest hash of an id that belongs to it; it ends where the next one begins */
  constructor(
    readonly minHash: number,
    readonly node: ShardNode,
    private readonly statements: ShardStatements,
    private readonly monitor: NodeMonitor,
  ) {}

  get load(): ShardNode {
    return this.node;
  }

  get refusal(): Error | undefined {
    const { isAway, name } = this.node;
    return isAway ? new DatabaseUnreachableError(`shards of ${name} do not answer`) : undefined;
  }

  /** If one node hangs, the others still have half of the connections. */
  maxLoad(max: number): number {
    return Math.ceil(max / 2);
  }

  async insert(plants: readonly PlantRecord[], writeId: bigint): Promise<string[]> {
    const suspicion = setTimeout(() => void this.monitor.check(this.node), SUSPECT_MS);
    try {
      return await this.statements.insert(plants, writeId);
    } finally {
      clearTimeout(suspicion);
    }
  }

  findExisting(plants: readonly PlantRecord[]): Promise<Map<bigint, StoredPlant>> {
    return this.statements.findExisting(plants);
  }

  /** A node that hangs holds the connections of its statements for longer than a create waits. */
  afterStatement(failure: unknown, callback: () => void): void {
    afterRelease(failure, callback);
  }

  noteFailure(error: unknown): boolean {
    if (!isNodeFailure(error)) return false;
    this.monitor.markAway(this.node, error);
    return true;
  }
}
