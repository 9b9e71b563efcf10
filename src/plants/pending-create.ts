import { DatabaseTimeoutError } from '../database/connection-pool.error.js';
import type { CreateResult } from './create-result.js';
import type { PlantRecord } from './plant-record.js';

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
