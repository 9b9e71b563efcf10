import { DatabaseTimeoutError } from '../database/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { activeSpan } from '../tracing/statement-spans.js';
import { type PlantRecord, sizeOf } from './plant-sql.js';
import { WriteQueueFullError } from './plants.errors.js';
import type { Shard } from './shards.js';

/** The result of a create: the plant is stored, durably, or its id was taken and nothing was written. */
export interface CreateResult {
  readonly stored: boolean;
  /** The plant that has the id: where it is taken, and the create has an idempotency key to compare. */
  readonly existingPlant?: PlantRecord | undefined;
}

/** A create that waits for its result. */
export class PendingCreate {
  readonly result: Promise<CreateResult>;
  /** Characters of the plant, by which the size of a statement is limited. */
  readonly size: number;
  readonly arrivedAt = performance.now();
  /** Ends the wait. */
  timer: NodeJS.Timeout | undefined;
  /** Whether its id is known to be taken, so that its last statement wrote nothing. */
  isTaken = false;
  /** The failures of statements with it that may have been carried out all the same, by its write ids in them. */
  doubts: Map<bigint, unknown> | undefined;
  /** After a statement that was rejected, the first of those with which it is sent again. */
  part: PendingCreate | undefined;
  /** Whether its time is up, so that no further statement is sent for it. */
  isLate = false;
  settled = false;
  /** The span that it belongs to, where it is traced. */
  readonly span = activeSpan();
  private resolve!: (result: CreateResult) => void;
  private reject!: (error: unknown) => void;

  constructor(readonly plant: PlantRecord) {
    this.size = sizeOf(plant);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  succeed(result: CreateResult): void {
    this.settle();
    this.resolve(result);
  }

  fail(error: unknown): void {
    this.settle();
    const [cause] = this.doubts?.values() ?? [];
    this.reject(this.doubts ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }

  private settle(): void {
    this.settled = true;
    clearTimeout(this.timer);
  }
}

/** Plants in one statement. */
export const MAX_BATCH_PLANTS = 500;
/** Characters of the plants in one statement; a longer plant has a statement to itself. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** Characters of the plants that wait, however few plants they are, at two bytes each and twice: in the queue and in a statement. */
const MAX_WAITING_CHARACTERS = Math.floor(MAX_BODIES_BYTES / 4);

/** Creates that wait for a statement: for each shard, those of its plants in the order of their arrival. */
export class WriteQueue {
  /** The shard whose last statement is the oldest comes first. */
  private readonly entries = new Map<Shard, PendingCreate[]>();
  private plants = 0;
  private characters = 0;

  /** @param statistics receive the number of creates that wait */
  constructor(private readonly statistics: { waiting: number }) {}

  get isEmpty(): boolean {
    return this.entries.size === 0;
  }

  /** The shards for which creates wait. One that is added again meanwhile comes once more, at the end. */
  get shards(): Iterable<Shard> {
    return this.entries.keys();
  }

  /** @throws WriteQueueFullError where too many creates wait already, or too many characters */
  add(shard: Shard, entry: PendingCreate, limit: number): void {
    if (this.plants >= limit || (!this.isEmpty && this.characters + entry.size > MAX_WAITING_CHARACTERS)) {
      throw new WriteQueueFullError(`${this.plants} creates wait for the database`);
    }
    this.append(shard, entry);
  }

  /** Adds creates again, in parts of this length that each have a statement to themselves. */
  split(shard: Shard, batch: readonly PendingCreate[], length: number): void {
    for (const [at, entry] of batch.entries()) {
      entry.part = batch[at - (at % length)];
      if (!entry.settled) this.append(shard, entry);
    }
  }

  private append(shard: Shard, entry: PendingCreate): void {
    const entries = this.entries.get(shard);
    if (entries) entries.push(entry);
    else this.entries.set(shard, [entry]);
    this.count(entry, 1, entry.size);
  }

  /** Takes an entry out of the queue; returns whether it was in there. */
  remove(shard: Shard, entry: PendingCreate): boolean {
    const entries = this.entries.get(shard) ?? [];
    const index = entries.indexOf(entry);
    if (index === -1) return false;
    entries.splice(index, 1);
    if (entries.length === 0) this.entries.delete(shard);
    this.count(entry, -1, -entry.size);
    return true;
  }

  /** Takes the first entries of a shard, as many as one statement may have, but no part if parts have to wait. */
  takeBatch(shard: Shard, partsWait: boolean): PendingCreate[] {
    const entries = this.entries.get(shard) ?? [];
    const start = partsWait ? entries.findIndex(({ part }) => !part) : 0;
    if (start === -1) return [];
    let count = 0;
    let size = 0;
    const first = entries[start];
    for (const entry of start === 0 ? entries : entries.slice(start)) {
      if (count === MAX_BATCH_PLANTS || (count > 0 && size + entry.size > MAX_BATCH_CHARACTERS)) break;
      if (entry.part !== first?.part) break;
      count += 1;
      size += entry.size;
    }
    const batch = entries.splice(start, count);
    this.entries.delete(shard);
    if (entries.length > 0) this.entries.set(shard, entries);
    if (first) this.count(first, -count, -size);
    return batch;
  }

  private count({ part }: PendingCreate, plants: number, characters: number): void {
    // For what was rejected together with others, no create is refused.
    if (!part) this.plants += plants;
    this.characters += characters;
    this.statistics.waiting = this.plants;
  }
}

/** While one statement waits for the disk, another is sent; with more of them, fewer plants would share each commit. */
const MAX_FAST_STATEMENTS = 2;
/** Statements in flight, slow ones included, where the table is not distributed. */
const MAX_STATEMENTS = 8;
/** A statement that takes longer waits for something of its own, a lock on a row for example, and holds back no other. */
const SLOW_STATEMENT_MS = 100;

/** How many statements may be in flight, so that creates gather for the next one meanwhile. */
export class InsertConcurrency {
  private inFlight = 0;

  /**
   * @param max connections for statements, slow ones included
   * @param onFree called when another statement may be sent
   */
  constructor(
    private readonly max: number,
    private readonly onFree: () => void,
  ) {}

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  /** Statements with plants of this shard that may be sent now. */
  free({ node, fast }: Shard): number {
    // A node that hangs leaves the others half of the connections.
    const share = node ? Math.ceil(this.max / 2) - node.inFlight : MAX_STATEMENTS - this.inFlight;
    // While a statement of one shard waits for the disk, those of the others are sent.
    const maxFast = node ? 1 : MAX_FAST_STATEMENTS;
    return Math.max(0, Math.min(maxFast - fast, this.max - this.inFlight, share));
  }

  /** Begins a statement, and returns what ends it. */
  begin(shard: Shard): () => void {
    const node = shard.node ?? { inFlight: 0 };
    this.inFlight += 1;
    node.inFlight += 1;
    shard.fast += 1;
    let isFast = true;
    const release = (): void => {
      if (isFast) shard.fast -= 1;
      isFast = false;
      this.onFree();
    };
    const slow = setTimeout(release, SLOW_STATEMENT_MS);
    return () => {
      clearTimeout(slow);
      this.inFlight -= 1;
      node.inFlight -= 1;
      release();
    };
  }
}
