import { DatabaseTimeoutError } from '../database/database.errors.js';
import type { CreateResult, PlantRecord } from './plant-sql.js';
import { WriteQueueFullError } from './plants.errors.js';

/** A create that waits for its verdict, which it gets once. */
export class PendingCreate {
  readonly verdict: Promise<CreateResult>;
  /** Characters of the plant, by which the size of a statement is judged. */
  readonly size: number;
  /** Ends the wait. */
  timer: NodeJS.Timeout | undefined;
  /** Whether its id is known to be taken, so that nothing was written. */
  isTaken = false;
  /** Whether a statement with it failed that may have been carried out all the same. */
  isUncertain = false;
  settled = false;
  private resolve!: (result: CreateResult) => void;
  private reject!: (error: unknown) => void;

  constructor(readonly plant: PlantRecord) {
    const { name, tag, idempotencyKey, createdBy } = plant;
    this.size = name.length + (tag?.length ?? 0) + (idempotencyKey?.length ?? 0) + (createdBy?.length ?? 0);
    this.verdict = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  succeed(result: CreateResult): void {
    this.settle();
    this.resolve(result);
  }

  fail(cause: unknown): void {
    this.settle();
    this.reject(
      this.isUncertain ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : cause,
    );
  }

  private settle(): void {
    this.settled = true;
    clearTimeout(this.timer);
  }
}

/** The most plants in one statement. */
export const MOST_PLANTS = 500;
/** The most characters of plants in one statement; a longer plant has a statement to itself. */
const MOST_CHARACTERS = 2 ** 20;
/** The most characters of plants that wait, however few plants they are. */
const MOST_CHARACTERS_WAITING = 2 ** 26;

/** Creates that wait for a statement, in the order in which they came. */
export class WriteQueue {
  private readonly entries: PendingCreate[] = [];
  private size = 0;

  get length(): number {
    return this.entries.length;
  }

  /** @throws WriteQueueFullError where so many wait already, or so long ones that they take too much memory */
  add(entry: PendingCreate, limit: number): void {
    if (this.length >= limit || (this.length > 0 && this.size + entry.size > MOST_CHARACTERS_WAITING)) {
      throw new WriteQueueFullError(`${this.length} creates wait for the database`);
    }
    this.entries.push(entry);
    this.size += entry.size;
  }

  /** Takes one out of the queue, and tells whether it was in there. */
  remove(entry: PendingCreate): boolean {
    const index = this.entries.indexOf(entry);
    if (index === -1) return false;
    this.entries.splice(index, 1);
    this.size -= entry.size;
    return true;
  }

  /** Takes as many of the first ones as one statement takes. */
  takeBatch(): PendingCreate[] {
    let count = 0;
    let size = 0;
    for (const entry of this.entries) {
      if (count === MOST_PLANTS || (count > 0 && size + entry.size > MOST_CHARACTERS)) break;
      count += 1;
      size += entry.size;
    }
    this.size -= size;
    return this.entries.splice(0, count);
  }
}

/** While one waits for the disk, another is on its way there; with more at a time, fewer plants would share each commit. */
const AT_A_TIME = 2;
/** A statement that takes longer waits for what others need not wait for, a lock on a row for example, and counts no more. */
const PATIENCE_MS = 100;

/** Says when the next statement may be sent, so that creates gather for it while those before are under way. */
export class StatementPace {
  private underWay = 0;
  /** Those of them that have not taken long yet. */
  private awaited = 0;

  /**
   * @param most statements that are under way, however long they take
   * @param onOpen called when one more may have become free
   */
  constructor(
    private readonly most: number,
    private readonly onOpen: () => void,
  ) {}

  /** Statements that may be sent now. */
  get free(): number {
    return Math.max(0, Math.min(AT_A_TIME - this.awaited, this.most - this.underWay));
  }

  /** Begins a statement, and returns what ends it. */
  begin(): () => void {
    this.underWay += 1;
    this.awaited += 1;
    let isAwaited = true;
    const letNextGo = (): void => {
      if (isAwaited) this.awaited -= 1;
      isAwaited = false;
      this.onOpen();
    };
    const patience = setTimeout(letNextGo, PATIENCE_MS);
    return () => {
      clearTimeout(patience);
      this.underWay -= 1;
      letNextGo();
    };
  }
}
