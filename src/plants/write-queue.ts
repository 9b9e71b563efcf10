import { DatabaseTimeoutError } from '../database/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import type { Lane } from './lanes.js';
import { type PlantRecord, sizeOf } from './plant-sql.js';
import { WriteQueueFullError } from './plants.errors.js';

/** Plants in one statement: with more, the gain is small (their commit is shared by 500 already), and those behind them wait longer. */
export const MAX_BATCH_PLANTS = 500;
/** Characters of the plants in one statement; a longer plant has a statement to itself. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** Characters of the plants that wait, however few plants they are, at two bytes each and twice: in the queue and in a statement. */
const MAX_WAITING_CHARACTERS = Math.floor(MAX_BODIES_BYTES / 4);

/** The result of a create: the plant is stored, durably, or its id was taken and nothing was written. */
export interface CreateResult {
  readonly stored: boolean;
  /** The plant that has the id: if it is taken, and the create has an idempotency key to compare. */
  readonly existingPlant?: PlantRecord | undefined;
}

/**
 * - `active`: statements are sent for it;
 * - `taken`: its id is known to be taken, so that its last statement wrote nothing, and the stored plant is looked up;
 * - `late`: its time is up, and no further statement is sent for it; the last one may still be answered;
 * - `settled`: it has its result.
 */
type State = 'active' | 'taken' | 'late' | 'settled';

/** A create that waits for its result. */
export class PendingCreate {
  readonly result: Promise<CreateResult>;
  /** Characters of the plant, by which the size of a statement is limited. */
  readonly size: number;
  state: State = 'active';
  /** Ends the wait. */
  timer: NodeJS.Timeout | undefined;
  /** The failures of statements with it that may have been carried out all the same, by its write ids in them. */
  doubts: Map<bigint, unknown> | undefined;
  /** After a statement that was rejected, the first of those with which it is sent again. */
  part: PendingCreate | undefined;
  private resolve!: (result: CreateResult) => void;
  private reject!: (error: unknown) => void;

  constructor(readonly plant: PlantRecord) {
    this.size = sizeOf(plant);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Whether it may be sent again. */
  get hasTime(): boolean {
    return this.state === 'active' || this.state === 'taken';
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
    this.state = 'settled';
    clearTimeout(this.timer);
  }
}

/** Creates that wait for a statement: for each lane in the order of their arrival. */
export class WriteQueue {
  /** The lane with the oldest last statement comes first. */
  private readonly entries = new Map<Lane, PendingCreate[]>();
  private plants = 0;
  private characters = 0;

  /** @param statistics receive the number of creates that wait */
  constructor(private readonly statistics: { waiting: number }) {}

  get isEmpty(): boolean {
    return this.entries.size === 0;
  }

  /** The shards for which creates wait. One that is added again meanwhile comes once more, at the end. */
  get lanes(): Iterable<Lane> {
    return this.entries.keys();
  }

  /** @throws WriteQueueFullError if too many creates wait already, or too many characters */
  add(lane: Lane, entry: PendingCreate, limit: number): void {
    if (this.plants >= limit || (!this.isEmpty && this.characters + entry.size > MAX_WAITING_CHARACTERS)) {
      throw new WriteQueueFullError(`${this.plants} creates wait for the database`);
    }
    this.append(lane, entry);
  }

  /** Adds creates again, in parts of this length that each have a statement to themselves. */
  split(lane: Lane, batch: readonly PendingCreate[], length: number): void {
    for (const [at, entry] of batch.entries()) {
      entry.part = batch[at - (at % length)];
      if (entry.state !== 'settled') this.append(lane, entry);
    }
  }

  private append(lane: Lane, entry: PendingCreate): void {
    const entries = this.entries.get(lane);
    if (entries) entries.push(entry);
    else this.entries.set(lane, [entry]);
    this.count(entry, 1, entry.size);
  }

  /** Takes an entry out of the queue; returns whether it was in there. */
  remove(lane: Lane, entry: PendingCreate): boolean {
    const entries = this.entries.get(lane) ?? [];
    const index = entries.indexOf(entry);
    if (index === -1) return false;
    entries.splice(index, 1);
    if (entries.length === 0) this.entries.delete(lane);
    this.count(entry, -1, -entry.size);
    return true;
  }

  /** Takes the first entries of a lane, as many as one statement may have, but no part if parts have to wait. */
  takeBatch(lane: Lane, partsWait: boolean): PendingCreate[] {
    const entries = this.entries.get(lane) ?? [];
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
    this.entries.delete(lane);
    if (entries.length > 0) this.entries.set(lane, entries);
    if (first) this.count(first, -count, -size);
    return batch;
  }

  private count({ part }: PendingCreate, plants: number, characters: number): void {
    // Creates that were rejected together with others are never refused here.
    if (!part) this.plants += plants;
    this.characters += characters;
    this.statistics.waiting = this.plants;
  }
}
