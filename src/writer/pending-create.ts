import { AsyncResource } from 'node:async_hooks';
import { DatabaseOverloadedError, DatabaseTimeoutError } from '../prisma/database.errors.js';

/** A create in flight gets an answer this long after its deadline. The time limit of the server ends before that. */
const LATE_ANSWER_MS = 400;

/** What the writer needs of a row. */
export interface WriteRecord {
  readonly id: bigint;
  /** Unique for each create: the writer recognises its own row by it. */
  readonly writeId: bigint | null;
}

/** The number of characters of a row. */
export function charactersOf(record: WriteRecord): number {
  let characters = 0;
  for (const value of Object.values(record)) if (typeof value === 'string') characters += value.length;
  return characters;
}

/** A create without a result. */
export class PendingCreate<R extends WriteRecord> {
  /** Resolves with the stored plant that has the id, or with undefined if this create stored its plant. */
  readonly result: Promise<R | undefined>;
  /** The async context of the caller. */
  readonly context = new AsyncResource('PlantStoreCreate');
  isSettled = false;
  /** The first failure of a statement that may have stored the plant. */
  unconfirmed: Error | undefined;
  /** One insert stored nothing, although no plant has the id. */
  isLeftOut = false;
  private isLate = false;
  private timer: NodeJS.Timeout;
  private resolve!: (existing: R | undefined) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly record: R,
    readonly characters: number,
    timeout: number,
    onDeadline: (create: PendingCreate<R>) => void,
  ) {
    this.timer = setTimeout(() => {
      onDeadline(this);
    }, timeout);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  settle(existing?: R): void {
    this.isSettled = true;
    clearTimeout(this.timer);
    this.resolve(existing);
  }

  /** A plant that may be stored must not fail with an error that says "nothing was written". */
  fail(error: Error): void {
    this.isSettled = true;
    clearTimeout(this.timer);
    const { unconfirmed: cause } = this;
    this.reject(cause ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }

  /** Nothing more is sent after the deadline. The answer to a statement in flight may still come for a moment. */
  endLate(isInFlight: boolean): void {
    this.isLate = true;
    const late = new DatabaseTimeoutError('the database did not answer within the time limit');
    if (isInFlight) this.timer = setTimeout(this.fail.bind(this, late), LATE_ANSWER_MS);
    else this.canGoOn();
  }

  /** Whether something may be sent for it. It fails if it is late. */
  canGoOn(): boolean {
    if (this.isLate && !this.isSettled)
      this.fail(new DatabaseOverloadedError('no statement could store the plant within the time limit'));
    return !this.isSettled;
  }
}
