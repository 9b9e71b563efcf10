import { AsyncResource } from 'node:async_hooks';
import { DatabaseOverloadedError, DatabaseTimeoutError } from '../prisma/database.errors.js';
import { type PlantRecord, sizeOf } from './plants.repository.js';

/** The most plants in one statement. With more, a commit gains little and the next plants wait longer. */
export const MAX_BATCH_PLANTS = 500;
/** The most characters in one statement. A longer plant has its own statement. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** The most statements of one queue in flight, besides those of single plants, if all others are slow. */
const MAX_BATCHES = 4;
/** A slower statement waits for something, a row lock for example. It must not hold back the others. */
const SLOW_STATEMENT_MS = 100;
/** A create in flight gets an answer this long after its deadline. The time limit of the server ends before that. */
const LATE_ANSWER_MS = 400;

/** A create without a result. */
export class PendingCreate {
  /** Resolves with the stored plant that has the id, or with undefined if this create stored its plant. */
  readonly result: Promise<PlantRecord | undefined>;
  /** In characters. */
  readonly size: number;
  /** The async context of the caller. */
  readonly context = new AsyncResource('PlantStoreCreate');
  isSettled = false;
  /** The first failure of a statement that may have stored the plant. */
  unconfirmed: Error | undefined;
  /** One insert stored nothing, although no plant has the id. */
  isLeftOut = false;
  private resolve!: (existing: PlantRecord | undefined) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly record: PlantRecord,
    /** It is not sent again after this moment. */
    readonly deadline: number,
  ) {
    this.size = sizeOf(record);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  settle(existing?: PlantRecord): void {
    this.isSettled = true;
    this.resolve(existing);
  }

  /** A plant that may be stored must not fail with an error that says "nothing was written". */
  fail(error: Error): void {
    this.isSettled = true;
    const { unconfirmed: cause } = this;
    this.reject(cause ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }

  /** Fails if the deadline has passed. */
  endIfLate(now: number): void {
    if (!this.isSettled && this.deadline <= now)
      this.fail(new DatabaseOverloadedError('no statement could store the plant within the time limit'));
  }
}

/** The creates of one statement in flight. */
export interface Batch {
  readonly creates: readonly PendingCreate[];
  /** That of the first create. Its request is still open, so tracers find the statement in its trace. */
  readonly context: AsyncResource;
  readonly sentAt: number;
  /** The only plant is one of a rejected batch. */
  readonly isSingle: boolean;
}

/** The creates of the table, or of one shard of it: those that wait for a statement, and those whose statement is in flight. */
export class WriteQueue {
  /** In order of arrival. Creates that are sent again come first. */
  private waiting: PendingCreate[] = [];
  /** Creates of rejected batches. Each is sent alone, so that only the one at fault fails. */
  private singles: PendingCreate[] = [];
  /** Creates that are sent again after the next sweep. */
  private paused: PendingCreate[] = [];
  private readonly inFlight = new Set<Batch>();

  /** The number of creates that wait. */
  get length(): number {
    return this.waiting.length + this.singles.length + this.paused.length;
  }

  get isIdle(): boolean {
    return this.length === 0 && this.inFlight.size === 0;
  }

  add(create: PendingCreate): void {
    this.waiting.push(create);
  }

  /** Whether a batch may be sent now. The next one waits for the one in flight, so that more plants share a commit. */
  hasSlot(now: number): boolean {
    let batches = 0;
    for (const { isSingle, sentAt } of this.inFlight) {
      if (isSingle) continue;
      batches += 1;
      if (batches === MAX_BATCHES || now - sentAt <= SLOW_STATEMENT_MS) return false;
    }
    return true;
  }

  /** Takes the creates of the next statement; undefined if there is none now. */
  next(now: number, maySendSingle: boolean): Batch | undefined {
    const hasSlot = this.hasSlot(now);
    for (;;) {
      // Repeats go first, then singles, then new creates: the oldest is nearest to its deadline.
      const isRepeat = hasSlot && this.waiting[0]?.unconfirmed !== undefined;
      const isSingle = maySendSingle && this.singles.length > 0 && !isRepeat;
      const taken = isSingle ? this.singles.splice(0, 1) : hasSlot ? this.takeWaiting() : [];
      if (taken.length === 0) return undefined;
      const creates = dropLate(taken, now);
      const [first] = creates;
      if (first === undefined) continue;
      const batch = { creates, context: first.context, sentAt: now, isSingle };
      this.inFlight.add(batch);
      return batch;
    }
  }

  /** The statement of the batch has ended. These of its creates are sent again together, and those alone. */
  end(batch: Batch, again: readonly PendingCreate[], alone: readonly PendingCreate[]): void {
    this.inFlight.delete(batch);
    this.paused.push(...again);
    this.singles.push(...alone);
  }

  /** Fails the creates that are late. The paused ones may be sent again. */
  sweep(now: number): void {
    this.waiting = dropLate([...this.paused.splice(0), ...this.waiting], now);
    this.singles = dropLate(this.singles, now);
    for (const { creates } of this.inFlight)
      for (const create of creates)
        if (!create.isSettled && now >= create.deadline + LATE_ANSWER_MS)
          create.fail(new DatabaseTimeoutError('the database did not answer within the time limit'));
  }

  private takeWaiting(): PendingCreate[] {
    const { waiting } = this;
    const isRepeat = waiting[0]?.unconfirmed !== undefined;
    let count = 0;
    let characters = 0;
    for (const { size, unconfirmed } of waiting) {
      // A repeated plant may fail again and again. So repeats are sent with other repeats, never with new creates.
      if (count === MAX_BATCH_PLANTS || (unconfirmed !== undefined) !== isRepeat) break;
      if (count > 0 && characters + size > MAX_BATCH_CHARACTERS) break;
      count += 1;
      characters += size;
    }
    return waiting.splice(0, count);
  }
}

/** Fails the creates that are late, and returns those without a result. */
export function dropLate(creates: readonly PendingCreate[], now: number): PendingCreate[] {
  for (const create of creates) create.endIfLate(now);
  return creates.filter(({ isSettled }) => !isSettled);
}
