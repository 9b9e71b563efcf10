import { DatabaseOverloadedError, DatabaseTimeoutError } from '../prisma/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { type PlantRecord, sizeOf, type StoredPlant } from './plant-statements.js';

/** The most characters that may wait. Each takes two bytes, and is held twice: in the queue and in a statement. */
const MAX_WAITING_CHARACTERS = Math.floor(MAX_BODIES_BYTES / 4);
/** The most singles in flight. Each may wait for a lock, so they take at most half of all statements. */
const MAX_SINGLES = 4;
/** The most plants in one statement. With more, a commit gains little and the next plants wait longer. */
const MAX_BATCH_PLANTS = 500;
/** The most characters in one statement. A longer plant has its own statement. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** The most statements in flight if the number of connections is unknown. */
const UNKNOWN_STATEMENTS = 8;
const SWEEP_EVERY_MS = 50;

/** A create without a result. */
export class PendingCreate {
  /** Resolves with the stored plant that has the id, or with undefined if this create stored its plant. */
  readonly result: Promise<StoredPlant | undefined>;
  /** In characters. */
  readonly size: number;
  isSettled = false;
  /** The first failure of a statement that may have stored the plant. */
  unconfirmed: Error | undefined;
  /** One insert stored nothing, although no plant has the id. */
  isLeftOut = false;
  private resolve!: (existing: StoredPlant | undefined) => void;
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

  succeed(existing?: StoredPlant): void {
    this.isSettled = true;
    this.resolve(existing);
  }

  /** A plant that may be stored must not fail with an error that says "nothing was written". */
  fail(error: Error): void {
    this.isSettled = true;
    const { unconfirmed: cause } = this;
    this.reject(cause ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }
}

/** The creates of one writer that wait for a statement. */
export class WriteQueue {
  /** In order of arrival. Creates that are sent again come first. */
  private waiting: PendingCreate[] = [];
  /** Creates of rejected batches. Each is sent alone, so that only the one at fault fails. */
  readonly singles: PendingCreate[] = [];
  /** Creates that return to the queue at the next sweep. */
  readonly paused: PendingCreate[] = [];

  /** @param timeout milliseconds, for the message of a late create */
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
   * @param freeSlots statements that the writer may send now; the creates that fit into them do not wait
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
      // A repeated plant may fail again and again. So repeats are sent with other repeats, never with new creates.
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

  /** Fails the creates that are late. Returns the creates without a result. */
  endLate(creates: readonly PendingCreate[], now: number): PendingCreate[] {
    for (const create of creates)
      if (!create.isSettled && create.deadline <= now)
        create.fail(new DatabaseOverloadedError(`no statement could store the plant within ${this.timeout} ms`));
    return creates.filter(({ isSettled }) => !isSettled);
  }
}

interface Writer {
  readonly isIdle: boolean;
  /** Sends the next statement. Returns false if there is none or none may be sent now. */
  sendNext(now: number): boolean;
  /** Ends the creates whose deadlines have passed. */
  sweep(now: number): void;
}

/** The limits that all writers of a store share, their turns, and the timer that keeps deadlines. */
export class WriteBudget {
  /** The creates that wait for a statement. */
  waiting = 0;
  private characters = 0;
  private inFlight = 0;
  private singlesInFlight = 0;
  private isScheduled = false;
  private sweepTimer: NodeJS.Timeout | undefined;
  /** The writers with creates. The one that sent last comes last. */
  private readonly writers = new Set<Writer>();
  private readonly maxStatements: number;

  /**
   * @param connections one of them is kept for the health check and, on Citus, for the shard map
   * @param limit the most creates that may wait
   */
  constructor(
    connections: number,
    private readonly limit: number,
  ) {
    this.maxStatements = Number.isFinite(connections) ? Math.max(1, connections - 1) : UNKNOWN_STATEMENTS;
  }

  /** The number of statements that may be sent now. */
  get freeSlots(): number {
    return this.maxStatements - this.inFlight;
  }

  get maySendSingle(): boolean {
    return this.singlesInFlight < Math.min(MAX_SINGLES, Math.ceil(this.maxStatements / 2));
  }

  /** Counts a new create. @throws DatabaseOverloadedError if too many wait; `sendable` ones do not count */
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

  /** Gives a writer its turn after all requests of this event-loop turn were read: their creates share a statement. */
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
    // A writer that is added again comes last in this loop.
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
