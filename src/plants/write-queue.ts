import { DatabaseOverloadedError, DatabaseTimeoutError } from '../database/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { type PlantRecord, sizeOf, type StoredPlant } from './plant-statements.js';

/** Characters of the plants that wait, at two bytes each and twice: in the queue and in a statement. */
const MAX_WAITING_CHARACTERS = Math.floor(MAX_BODIES_BYTES / 4);
/** Singles in flight, at most half of all statements: each may wait for a lock. */
const MAX_SINGLES = 4;
/** Plants in one statement: more would gain little, as 500 share a commit already, and those behind them wait longer. */
const MAX_BATCH_PLANTS = 500;
/** Characters of the plants in one statement; a longer plant has a statement to itself. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** Statements in flight if the number of connections is not known. */
const UNKNOWN_STATEMENTS = 8;
const SWEEP_EVERY_MS = 50;

/** A create that has no result yet. */
export class PendingCreate {
  /** Resolves with the plant that has the id already, or with undefined: this create has stored its own. */
  readonly result: Promise<StoredPlant | undefined>;
  /** In characters. */
  readonly size: number;
  isSettled = false;
  /** The first failure of a statement that may have stored it all the same. */
  unconfirmed: Error | undefined;
  /** An insert has stored nothing, though no plant has the id. */
  isLeftOut = false;
  private resolve!: (existing: StoredPlant | undefined) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly record: PlantRecord,
    /** From then on it is not sent again. */
    readonly deadline: number,
  ) {
    this.size = sizeOf(record);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  succeed(existing?: StoredPlant): void {
    this.isSettled = true;
    this.resolve(existing);
  }

  /** What may be stored never fails as if nothing had been written. */
  fail(error: Error): void {
    this.isSettled = true;
    const { unconfirmed: cause } = this;
    this.reject(cause ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }
}

/** The creates of one writer that wait for a statement. */
export class WriteQueue {
  /** In the order of their arrival; those that are sent again come first. */
  private waiting: PendingCreate[] = [];
  /** Plants of rejected batches: each is sent alone, so that only the one at fault fails. */
  readonly singles: PendingCreate[] = [];
  /** Wait again from the next sweep on. */
  readonly paused: PendingCreate[] = [];

  /** @param timeout milliseconds, for the message of a create that is late */
  constructor(
    private readonly budget: WriteBudget,
    private readonly timeout: number,
  ) {}

  get isEmpty(): boolean {
    return this.waiting.length + this.singles.length + this.paused.length === 0;
  }

  get hasBatch(): boolean {
    return this.waiting.length > 0;
  }

  get beginsWithRepeat(): boolean {
    return this.waiting[0]?.unconfirmed !== undefined;
  }

  /**
   * Adds a new create.
   *
   * @param freeSlots of its writer: what fits into the statements that may be sent now does not wait
   * @throws DatabaseOverloadedError if too many wait
   */
  add(create: PendingCreate, freeSlots: number): void {
    this.budget.admit(create, freeSlots * MAX_BATCH_PLANTS);
    this.waiting.push(create);
  }

  takeBatch(): readonly PendingCreate[] {
    const { waiting, beginsWithRepeat } = this;
    let count = 0;
    let characters = 0;
    for (const { size, unconfirmed } of waiting) {
      // One plant may fail in this way again and again: it takes along only those with which it was sent first.
      if (count === MAX_BATCH_PLANTS || (unconfirmed !== undefined) !== beginsWithRepeat) break;
      if (count > 0 && characters + size > MAX_BATCH_CHARACTERS) break;
      count += 1;
      characters += size;
    }
    const creates = waiting.splice(0, count);
    for (const create of creates) this.budget.removeWaiting(create);
    return creates;
  }

  sweep(now: number): void {
    for (const create of this.paused) this.budget.addWaiting(create);
    const waiting = [...this.paused.splice(0), ...this.waiting];
    this.waiting = this.endLate(waiting, now);
    for (const create of waiting) if (create.isSettled) this.budget.removeWaiting(create);
    this.endLate(this.singles, now);
  }

  /** Fails the creates whose time is up: they are sent no more. Returns those that still have no result. */
  endLate(creates: readonly PendingCreate[], now: number): PendingCreate[] {
    for (const create of creates)
      if (!create.isSettled && create.deadline <= now)
        create.fail(new DatabaseOverloadedError(`no statement could store the plant within ${this.timeout} ms`));
    return creates.filter(({ isSettled }) => !isSettled);
  }
}

/** What the budget needs of a writer. */
interface Writer {
  readonly isIdle: boolean;
  /** Sends its next statement; returns false if it may send none now, or has none. */
  sendNext(now: number): boolean;
  /** Keeps the deadlines of its creates. */
  sweep(now: number): void;
}

/** What all writers of a store share: the limits, their turns to send, and the sweep that keeps deadlines. */
export class WriteBudget {
  /** Creates that wait for a statement. */
  waiting = 0;
  private characters = 0;
  private inFlight = 0;
  private singlesInFlight = 0;
  private isScheduled = false;
  private sweepTimer: NodeJS.Timeout | undefined;
  /** Those that have creates; the one that sent last comes last. */
  private readonly writers = new Set<Writer>();
  private readonly maxStatements: number;

  /**
   * @param connections one is for look-ups of tokens and the health check
   * @param limit creates that may wait
   */
  constructor(
    connections: number,
    private readonly limit: number,
  ) {
    this.maxStatements = Number.isFinite(connections) ? Math.max(1, connections - 1) : UNKNOWN_STATEMENTS;
  }

  /** Statements that may be sent now. */
  get freeSlots(): number {
    return this.maxStatements - this.inFlight;
  }

  get maySendSingle(): boolean {
    return this.singlesInFlight < Math.min(MAX_SINGLES, Math.ceil(this.maxStatements / 2));
  }

  /** Counts a new create. @throws DatabaseOverloadedError if more wait than these, which can be sent now, and the limit */
  admit(create: PendingCreate, sendable: number): void {
    const isLong = this.waiting > 0 && this.characters + create.size > MAX_WAITING_CHARACTERS;
    if (isLong || this.waiting >= this.limit + sendable)
      throw new DatabaseOverloadedError(`${this.waiting} creates wait for the database`);
    this.addWaiting(create);
  }

  addWaiting({ size }: PendingCreate): void {
    this.waiting += 1;
    this.characters += size;
  }

  removeWaiting({ size }: PendingCreate): void {
    this.waiting -= 1;
    this.characters -= size;
  }

  acquireSlot(isSingle: boolean): void {
    this.inFlight += 1;
    if (isSingle) this.singlesInFlight += 1;
  }

  releaseSlot(isSingle: boolean): void {
    this.inFlight -= 1;
    if (isSingle) this.singlesInFlight -= 1;
  }

  /** Gives a writer its turn, behind all requests that have arrived with this one: they share a statement. */
  schedule(writer: Writer): void {
    this.writers.add(writer);
    this.sweepTimer ??= setInterval(this.sweep, SWEEP_EVERY_MS);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.send);
  }

  private readonly send = (): void => {
    this.isScheduled = false;
    const now = performance.now();
    // One that is added again is visited again, behind the others.
    for (const writer of this.writers) {
      if (this.freeSlots === 0) break;
      if (!writer.sendNext(now)) continue;
      this.writers.delete(writer);
      this.writers.add(writer);
    }
  };

  private readonly sweep = (): void => {
    const now = performance.now();
    for (const writer of this.writers) {
      writer.sweep(now);
      if (writer.isIdle) this.writers.delete(writer);
      else this.schedule(writer);
    }
    if (this.writers.size > 0) return;
    clearInterval(this.sweepTimer);
    this.sweepTimer = undefined;
  };
}
