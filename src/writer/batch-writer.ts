import { getHeapStatistics } from 'node:v8';
import { DatabaseOverloadedError, isLocked, isPlantRejected, PlantLeftOutError } from '../prisma/database.errors.js';
import { charactersOf, PendingCreate, type WriteRecord } from './pending-create.js';

// Creates that arrive together share one statement and one commit. This room knows neither HTTP nor SQL.

/** The most plants in one statement. With more, a commit gains little and the next plants wait longer. */
export const MAX_BATCH_PLANTS = 500;
/** The most characters in one statement. A longer plant has its own statement. */
const MAX_BATCH_CHARACTERS = 128 * 1024;
/** The most characters of creates without a result. Each takes two bytes, and is held here and in a statement. */
export const MAX_PENDING_CHARACTERS = Math.floor(getHeapStatistics().heap_size_limit / 64);
/** The most statements of one queue in flight, besides those of rejected plants: two, and slow ones. */
const MAX_STATEMENTS_OF_QUEUE = 4;
/** The most statements of rejected plants. Each may wait for a lock, so they take half of all at most (rounded up). */
const MAX_REJECTED_STATEMENTS = 4;
/** A slower statement waits for something, a row lock for example. It must not hold back the others. */
const SLOW_STATEMENT_MS = 100;
/** After a lost statement, the database gets so much time to come back. */
const PAUSE_MS = 50;
/** After a deadlock, or too long a wait for a lock, only one statement of several plants is in flight for so long. */
const AFTER_LOCK_MS = 60_000;
/** The part of the time limit that a statement with several plants may wait for a row lock. */
export const LOCK_SHARE = 0.2;

/** The statements of the writer. */
export interface WriteTable<R extends WriteRecord> {
  /** The shard of a plant. Plants of two shards never share a statement. */
  shardOf(plant: R): number;
  /** Inserts all plants in one statement, or none if it fails. Returns the write ids of those whose ids were free. */
  insert(plants: readonly R[]): Promise<string[]>;
  /** Finds the plants with these ids. They are durable when they are returned. */
  findExisting(plants: readonly R[]): Promise<ReadonlyMap<bigint, R>>;
  /** Whether the statement may have been executed although it failed with this error. */
  isUndecided(error: unknown): boolean;
}

export interface WriteCounters {
  created: number;
  /** The creates whose statement is in flight. */
  inFlight: number;
  /** Counts the creates that wait for a statement. The writer sets it. */
  countWaiting: () => number;
  /** Observes each statement: its plants, and its time with the wait for a connection. */
  observeStatement: (plants: number, milliseconds: number) => void;
}

interface WriteLimits {
  /** If there are several, one is kept for the health check. */
  readonly connections: number;
  /** The most creates that may wait. */
  readonly waiting: number;
  /** Milliseconds from a create to its deadline. */
  readonly timeout: number;
}

/** The creates of the table, or of one shard of it, that wait for a statement. */
interface Queue<R extends WriteRecord> {
  /** In order of arrival. Creates that are sent again come first. */
  readonly waiting: PendingCreate<R>[];
  /** The plants of rejected statements. Each is sent alone, so that only the one at fault fails. */
  readonly rejected: PendingCreate<R>[];
  /** Until then only one statement of several plants is in flight. */
  aloneUntil: number;
}

/** A statement in flight. */
interface Statement<R extends WriteRecord> {
  readonly queue: Queue<R>;
  readonly creates: readonly PendingCreate<R>[];
  /** The only plant is one of a rejected statement. */
  readonly isRejected: boolean;
  isSlow: boolean;
}

/**
 * Sends the creates that arrive together in one statement with one commit. A lone create is sent at once. Creates that
 * arrive while a statement is in flight form the next one. Each create gets its own result.
 */
export class BatchWriter<R extends WriteRecord> {
  /** By shard. The queue that sent last comes last. */
  private readonly queues = new Map<number, Queue<R>>();
  private readonly inFlight = new Set<Statement<R>>();
  private readonly maxStatements: number;
  private readonly maxRejected: number;
  private characters = 0;
  private isScheduled = false;

  constructor(
    private readonly table: WriteTable<R>,
    private readonly limits: WriteLimits,
    private readonly counters: WriteCounters,
  ) {
    this.maxStatements = Math.max(1, limits.connections - 1);
    this.maxRejected = Math.min(MAX_REJECTED_STATEMENTS, Math.ceil(this.maxStatements / 2));
    counters.countWaiting = () => this.countWaiting();
  }

  /**
   * Resolves when the plant is committed: with undefined, or with the stored plant that already has the id.
   * @throws DatabaseOverloadedError if too many creates wait
   */
  async create(record: R): Promise<R | undefined> {
    const queue = this.queueOf(record);
    const characters = charactersOf(record);
    this.assertRoom(queue, characters);
    const create = new PendingCreate(record, characters, this.limits.timeout, this.onDeadline);
    queue.waiting.push(create);
    this.characters += characters;
    this.schedule();
    try {
      return await create.result;
    } finally {
      this.characters -= characters;
    }
  }

  private countWaiting(): number {
    let count = 0;
    for (const { waiting, rejected } of this.queues.values()) count += waiting.length + rejected.length;
    return count;
  }

  private queueOf(record: R): Queue<R> {
    const shard = this.table.shardOf(record);
    let queue = this.queues.get(shard);
    if (queue === undefined) this.queues.set(shard, (queue = { waiting: [], rejected: [], aloneUntil: 0 }));
    return queue;
  }

  /** Creates that the next statement can take do not count as waiting. A lone long plant is accepted. */
  private assertRoom(queue: Queue<R>, characters: number): void {
    const waiting = this.countWaiting();
    const isLong = this.characters > 0 && this.characters + characters > MAX_PENDING_CHARACTERS;
    const sendable = this.inFlight.size < this.maxStatements && this.hasSlot(queue) ? MAX_BATCH_PLANTS : 0;
    if (isLong || waiting >= this.limits.waiting + sendable)
      throw new DatabaseOverloadedError(`${waiting} creates wait for the database`);
  }

  private readonly onDeadline = (create: PendingCreate<R>): void => {
    const { waiting, rejected } = this.queueOf(create.record);
    const list = [waiting, rejected].find((creates) => creates.includes(create));
    list?.splice(list.indexOf(create), 1);
    create.endLate(list === undefined);
  };

  /** Sends after all requests of this turn of the event loop were read: their creates share a statement. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.send);
  }

  private readonly send = (): void => {
    this.isScheduled = false;
    // A queue that is added again comes last in this loop.
    for (const [shard, queue] of this.queues) {
      const statement = this.inFlight.size < this.maxStatements ? this.next(queue) : undefined;
      if (statement === undefined) continue;
      this.queues.delete(shard);
      this.queues.set(shard, queue);
      // That of the first create: its request is still open, so tracers find the statement in its trace.
      void statement.creates[0]?.context.runInAsyncScope(() => this.write(statement));
    }
  };

  /**
   * Whether those that wait may be sent. The more plants share a commit, the better: while a statement is in flight, a
   * second one goes when it carries at least as many. Rejected plants hold back no others.
   */
  private hasSlot(queue: Queue<R>): boolean {
    let count = 0;
    let inFlight: Statement<R> | undefined;
    for (const statement of this.inFlight) {
      if (statement.queue !== queue || statement.isRejected) continue;
      count += 1;
      if (statement.isSlow) continue;
      if (inFlight !== undefined) return false;
      inFlight = statement;
    }
    if (count === MAX_STATEMENTS_OF_QUEUE) return false;
    if (inFlight === undefined) return true;
    return performance.now() >= queue.aloneUntil && queue.waiting.length >= inFlight.creates.length;
  }

  /** Takes the creates of the next statement; undefined if there is none now. */
  private next(queue: Queue<R>): Statement<R> | undefined {
    let left = this.maxRejected;
    for (const { isRejected } of this.inFlight) left -= Number(isRejected);
    // Rejected plants are older than those that wait.
    const isRejected = left > 0 && queue.rejected.length > 0;
    const creates = isRejected ? queue.rejected.splice(0, 1) : this.hasSlot(queue) ? takeWaiting(queue) : [];
    return creates.length > 0 ? { queue, creates, isRejected, isSlow: false } : undefined;
  }

  private async write(statement: Statement<R>): Promise<void> {
    const { length } = statement.creates;
    this.inFlight.add(statement);
    this.counters.inFlight += length;
    // Where plants wait for each other's locks, many plants take their time.
    const isPatient = length > 1 && performance.now() < statement.queue.aloneUntil;
    const becomeSlow = (): void => {
      statement.isSlow = true;
      this.schedule();
    };
    const slowTimer = setTimeout(becomeSlow, isPatient ? this.limits.timeout * LOCK_SHARE : SLOW_STATEMENT_MS);
    await this.insert(statement).catch((error: unknown) => {
      this.sortFailed(statement, error as Error);
    });
    clearTimeout(slowTimer);
    this.counters.inFlight -= length;
    this.inFlight.delete(statement);
    // Each queue that waits gets its turn.
    if (this.countWaiting() > 0) this.schedule();
  }

  private async insert({ queue, creates }: Statement<R>): Promise<void> {
    const { counters, table } = this;
    const sentAt = performance.now();
    let stored: Set<string>;
    try {
      stored = new Set(await table.insert(creates.map(({ record }) => record)));
    } finally {
      counters.observeStatement(creates.length, performance.now() - sentAt);
    }
    counters.created += stored.size;
    const conflicts: PendingCreate<R>[] = [];
    for (const create of creates) {
      if (stored.has(String(create.record.writeId))) create.settle();
      else if (create.canGoOn()) conflicts.push(create);
    }
    if (conflicts.length > 0) await this.settleConflicts(queue, conflicts);
  }

  /** The id is taken by another plant or by an earlier statement of this create, or a trigger left the plant out. */
  private async settleConflicts({ waiting }: Queue<R>, creates: readonly PendingCreate<R>[]): Promise<void> {
    const plants = await this.table.findExisting(creates.map(({ record }) => record));
    for (const create of creates) {
      const { id, writeId } = create.record;
      const existing = plants.get(id);
      if (existing && existing.writeId !== writeId) {
        create.settle(existing);
      } else if (existing) {
        if (!create.isSettled) this.counters.created += 1;
        create.settle();
      } else if (create.isLeftOut) {
        create.fail(new PlantLeftOutError());
      } else if (create.canGoOn()) {
        create.isLeftOut = true;
        waiting.unshift(create);
      }
    }
  }

  /** Decides which creates of a failed statement are sent again, together or alone. The others fail. */
  private sortFailed({ queue, creates }: Statement<R>, error: Error): void {
    const isUndecided = this.table.isUndecided(error);
    const isRejected = !isUndecided && isPlantRejected(error);
    const open = creates.filter(({ isSettled }) => !isSettled);
    if (isLocked(error)) queue.aloneUntil = performance.now() + AFTER_LOCK_MS;
    if (isRejected && creates.length > 1) {
      queue.rejected.push(...open.filter((create) => create.canGoOn()));
      return;
    }
    for (const create of open) {
      if (isUndecided) create.unconfirmed ??= error;
      // One that may be stored goes on until its time is up (50400).
      if (isRejected || create.unconfirmed === undefined) create.fail(error);
    }
    const repeats = open.filter(({ isSettled }) => !isSettled);
    if (repeats.length === 0) return;
    setTimeout(() => {
      queue.waiting.unshift(...repeats.filter((create) => create.canGoOn()));
      this.schedule();
    }, PAUSE_MS);
  }
}

function takeWaiting<R extends WriteRecord>({ waiting }: Queue<R>): PendingCreate<R>[] {
  const isRepeat = waiting[0]?.unconfirmed !== undefined;
  let [count, length] = [0, 0];
  for (const { characters, unconfirmed } of waiting) {
    // A repeated plant may fail again and again. So repeats are sent with other repeats, never with new creates.
    if (count === MAX_BATCH_PLANTS || (unconfirmed !== undefined) !== isRepeat) break;
    length += characters;
    if (count > 0 && length > MAX_BATCH_CHARACTERS) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
