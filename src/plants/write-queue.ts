import { DatabaseTimeoutError } from '../database/database.errors.js';
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
  doubts?: Map<bigint, unknown>;
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

  /** A statement with it has failed, and may have been carried out all the same. */
  doubt(writeId: bigint, error: unknown): void {
    this.doubts ??= new Map<bigint, unknown>();
    this.doubts.set(writeId, error);
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
/** Characters of the plants that wait, however few plants they are. */
const MAX_WAITING_CHARACTERS = 2 ** 26;

/** What waits in all queues together. */
export interface Waiting {
  plants: number;
  characters: number;
}

/** Creates of one shard that wait for a statement, in the order of their arrival. */
export class WriteQueue {
  /** Statements in flight for less than SLOW_STATEMENT_MS. */
  fast = 0;
  private readonly entries: PendingCreate[] = [];

  constructor(
    readonly shard: Shard,
    private readonly waiting: Waiting,
  ) {}

  get length(): number {
    return this.entries.length;
  }

  /** @throws WriteQueueFullError where too many creates wait already, or too many characters */
  add(entry: PendingCreate, limit: number): void {
    const { plants, characters } = this.waiting;
    if (plants >= limit || (plants > 0 && characters + entry.size > MAX_WAITING_CHARACTERS)) {
      throw new WriteQueueFullError(`${plants} creates wait for the database`);
    }
    this.entries.push(entry);
    this.count(1, entry.size);
  }

  /** Takes an entry out of the queue; returns whether it was in there. */
  remove(entry: PendingCreate): boolean {
    const index = this.entries.indexOf(entry);
    if (index === -1) return false;
    this.entries.splice(index, 1);
    this.count(-1, -entry.size);
    return true;
  }

  /** Takes the first entries, as many as one statement may have. */
  takeBatch(): PendingCreate[] {
    let count = 0;
    let size = 0;
    for (const entry of this.entries) {
      if (count === MAX_BATCH_PLANTS || (count > 0 && size + entry.size > MAX_BATCH_CHARACTERS)) break;
      count += 1;
      size += entry.size;
    }
    this.count(-count, -size);
    return this.entries.splice(0, count);
  }

  private count(plants: number, characters: number): void {
    this.waiting.plants += plants;
    this.waiting.characters += characters;
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

  /** Statements with creates of this queue that may be sent now. */
  free({ shard: { node }, fast }: WriteQueue): number {
    // A node that hangs leaves the others half of the connections.
    const share = node ? Math.ceil(this.max / 2) - node.inFlight : MAX_STATEMENTS - this.inFlight;
    // While a statement of one shard waits for the disk, those of the others are sent.
    const maxFast = node ? 1 : MAX_FAST_STATEMENTS;
    return Math.max(0, Math.min(maxFast - fast, this.max - this.inFlight, share));
  }

  /** Begins a statement, and returns what ends it. */
  begin(queue: WriteQueue): () => void {
    const node = queue.shard.node ?? { inFlight: 0 };
    this.inFlight += 1;
    node.inFlight += 1;
    queue.fast += 1;
    let isFast = true;
    const release = (): void => {
      if (isFast) queue.fast -= 1;
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
