import { DatabaseTimeoutError } from '../database/database.errors.js';
import { type PlantRecord, sizeOf } from './plant-sql.js';

/** The result of a create: the plant is stored, durably, or its id was taken and nothing was written. */
export interface CreateResult {
  readonly stored: boolean;
  /** The plant that has the id: where it is taken, and the create has an idempotency key to compare. */
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
  readonly arrivedAt = performance.now();
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
