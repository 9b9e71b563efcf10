import { AsyncResource } from 'node:async_hooks';
import {
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  InsertSkippedError,
  isLocked,
  isPlantRejected,
} from '../database/database.errors.js';

/** Maximum number of plants in a statement. With more, a commit gains little and the next plants wait longer. */
export const MAX_BATCH_PLANTS = 500;
/** Maximum number of characters in a statement. A longer plant has its own statement. */
const MAX_BATCH_CHARACTERS = 128 * 1024;
/** Maximum number of statements of one queue, besides those of rejected plants: two, and slow ones. */
const MAX_STATEMENTS_OF_QUEUE = 4;
/** A slower statement waits for something, a row lock for example. It must not hold back the others. */
const SLOW_STATEMENT_MS = 100;
/** After a lost statement, the database gets so much time to come back. */
const PAUSE_MS = 50;
/** After a deadlock, or too long a wait for a lock, only one statement of several plants is in flight for so long. */
const AFTER_LOCK_MS = 60_000;
/** An answer may come so long after the deadline of its create. The time limit of the server ends before that. */
const ANSWER_GRACE_MS = 400;

interface WriteRecord {
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

/** What metrics show of a writer. */
export class WriteStatistics {
  created = 0;
  /** The creates whose statement is in flight. */
  inFlight = 0;
  /** Counts the creates that wait for a statement. The writer sets it. */
  countWaiting = (): number => 0;
  /** Observes each statement: its plants, and its time with all waits. Metrics set it. */
  observeStatement: (plants: number, milliseconds: number) => void = () => undefined;
}

interface WriteLimits {
  /** Maximum number of statements in flight. */
  readonly statements: number;
  /** Maximum number of creates that wait. */
  readonly waiting: number;
  /** Milliseconds from a create to its deadline. */
  readonly timeout: number;
}

/** A create without a result. */
class PendingCreate<R extends WriteRecord> {
  /** The async context of the caller. */
  readonly context = new AsyncResource('PlantStoreCreate');
  timer: NodeJS.Timeout | undefined;
  isSettled = false;
  /** Its deadline has passed, so nothing more is sent for it. */
  isOverdue = false;
  /** The first failure of a statement that may have stored the plant. */
  unconfirmed: Error | undefined;

  constructor(
    readonly record: R,
    private readonly resolve: (existing: R | undefined) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  settle(existing?: R): void {
    this.isSettled = true;
    clearTimeout(this.timer);
    this.resolve(existing);
  }

  /** A plant that may be stored must not fail with an error that says "nothing was written". */
  fail(error: Error): void {
    const { unconfirmed: cause } = this;
    this.isSettled = true;
    clearTimeout(this.timer);
    this.reject(cause ? new DatabaseTimeoutError('an earlier statement may have stored it', { cause }) : error);
  }
}

/** Fails the creates that are overdue. Returns those for which another statement can be sent. */
function failOverdue<R extends WriteRecord>(creates: readonly PendingCreate<R>[]): PendingCreate<R>[] {
  for (const create of creates)
    if (create.isOverdue && !create.isSettled)
      create.fail(new DatabaseOverloadedError('no statement could store the plant within the time limit'));
  return creates.filter(({ isSettled }) => !isSettled);
}

/** The creates of the table, or of one shard of it, that wait for a statement. */
interface Queue<R extends WriteRecord> {
  /** In order of arrival. Creates that are sent again come first. */
  readonly waiting: PendingCreate<R>[];
  /** The plants of rejected statements. Each is sent alone, so that only the one at fault fails. */
  readonly retries: PendingCreate<R>[];
  /** Until then only one statement of several plants is in flight. */
  aloneUntil: number;
}

interface Statement<R extends WriteRecord> {
  readonly queue: Queue<R>;
  readonly creates: readonly PendingCreate<R>[];
  /** It sends one plant of a rejected statement alone. */
  readonly isRetry: boolean;
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
  private isScheduled = false;

  constructor(
    private readonly table: WriteTable<R>,
    private readonly limits: WriteLimits,
    private readonly statistics: WriteStatistics,
  ) {
    statistics.countWaiting = () => this.countWaiting();
  }

  /**
   * Resolves when the plant is committed: with undefined, or with the stored plant that already has the id.
   * @throws DatabaseOverloadedError if too many creates wait
   */
  create(record: R): Promise<R | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = this.countWaiting();
      if (waiting >= this.limits.waiting) throw new DatabaseOverloadedError(`${waiting} creates wait for the database`);
      const create = new PendingCreate(record, resolve, reject);
      create.timer = setTimeout(this.onDeadline.bind(this, create), this.limits.timeout);
      this.queueOf(record).waiting.push(create);
      this.schedule();
    });
  }

  private countWaiting(): number {
    let count = 0;
    for (const { waiting, retries } of this.queues.values()) count += waiting.length + retries.length;
    return count;
  }

  private queueOf(record: R): Queue<R> {
    const shard = this.table.shardOf(record);
    const queue = this.queues.get(shard) ?? { waiting: [], retries: [], aloneUntil: 0 };
    this.queues.set(shard, queue);
    return queue;
  }

  /** Nothing more is sent after the deadline. The answer to a statement in flight may still come for a moment. */
  private onDeadline(create: PendingCreate<R>): void {
    create.isOverdue = true;
    const { waiting, retries } = this.queueOf(create.record);
    const list = [waiting, retries].find((creates) => creates.includes(create));
    list?.splice(list.indexOf(create), 1);
    const timeout = new DatabaseTimeoutError('the database did not answer within the time limit');
    if (list === undefined) create.timer = setTimeout(create.fail.bind(create, timeout), ANSWER_GRACE_MS);
    else failOverdue([create]);
  }

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
      const statement = this.takeStatement(queue);
      if (statement === undefined) continue;
      this.queues.delete(shard);
      this.queues.set(shard, queue);
      // That of the first create: its request is still open, so tracers find the statement in its trace.
      void statement.creates[0]?.context.runInAsyncScope(() => this.write(statement));
    }
  };

  /**
   * Whether those that wait may be sent. The more plants share a commit, the better: a second statement goes when it
   * carries at least as many as the one in flight. After a deadlock, none goes beside one of several plants.
   */
  private hasSlot(queue: Queue<R>): boolean {
    const statements = [...this.inFlight].filter((one) => one.queue === queue && !one.isRetry);
    const isAlone = performance.now() < queue.aloneUntil;
    const [first, second] = statements.filter(({ isSlow, creates }) => !isSlow || (isAlone && creates.length > 1));
    if (second !== undefined || statements.length === MAX_STATEMENTS_OF_QUEUE) return false;
    return first === undefined || (!isAlone && queue.waiting.length >= first.creates.length);
  }

  /** Takes the creates of the next statement; undefined if there is none now. */
  private takeStatement(queue: Queue<R>): Statement<R> | undefined {
    if (this.inFlight.size === this.limits.statements) return undefined;
    const retries = [...this.inFlight].filter((statement) => statement.isRetry);
    // Rejected plants are older than those that wait. Each may wait for a lock, so they leave half of the statements.
    const isRetry = queue.retries.length > 0 && retries.length < this.limits.statements / 2;
    const creates = isRetry ? queue.retries.splice(0, 1) : this.hasSlot(queue) ? takeWaiting(queue) : [];
    return creates.length > 0 ? { queue, creates, isRetry, isSlow: false } : undefined;
  }

  private async write(statement: Statement<R>): Promise<void> {
    const { inFlight, statistics } = this;
    const { length } = statement.creates;
    const slowTimer = setTimeout(() => {
      statement.isSlow = true;
      this.schedule();
    }, SLOW_STATEMENT_MS);
    const sentAt = performance.now();
    inFlight.add(statement);
    statistics.inFlight += length;
    await this.insert(statement.creates).catch(this.handleFailure.bind(this, statement));
    clearTimeout(slowTimer);
    inFlight.delete(statement);
    statistics.inFlight -= length;
    statistics.observeStatement(length, performance.now() - sentAt);
    // Each queue that waits gets its turn.
    if (this.countWaiting() > 0) this.schedule();
  }

  private async insert(creates: readonly PendingCreate<R>[]): Promise<void> {
    const stored = new Set(await this.table.insert(creates.map(({ record }) => record)));
    this.statistics.created += stored.size;
    for (const create of creates) if (stored.has(String(create.record.writeId))) create.settle();
    const conflicts = failOverdue(creates);
    if (conflicts.length > 0) await this.settleConflicts(conflicts);
  }

  /** The id is taken by another plant or by an earlier statement of this create, or a trigger left the plant out. */
  private async settleConflicts(creates: readonly PendingCreate<R>[]): Promise<void> {
    const plants = await this.table.findExisting(creates.map(({ record }) => record));
    for (const create of creates) {
      const existing = plants.get(create.record.id);
      const isOwn = existing?.writeId === create.record.writeId;
      if (isOwn && !create.isSettled) this.statistics.created += 1;
      if (existing === undefined) create.fail(new InsertSkippedError());
      else create.settle(isOwn ? undefined : existing);
    }
  }

  /** Fails the creates of a failed statement, or sends them again: each alone if perhaps only one was rejected. */
  private handleFailure({ queue, creates }: Statement<R>, error: Error): void {
    const isUndecided = this.table.isUndecided(error);
    const isRejected = !isUndecided && isPlantRejected(error);
    if (isLocked(error)) queue.aloneUntil = performance.now() + AFTER_LOCK_MS;
    if (isUndecided) for (const create of creates) create.unconfirmed ??= error;
    const open = failOverdue(creates);
    if (isRejected && creates.length > 1) {
      queue.retries.push(...open);
      return;
    }
    // One that may be stored is sent again until its time is up (50400).
    for (const create of open) if (isRejected || create.unconfirmed === undefined) create.fail(error);
    const repeats = open.filter(({ isSettled }) => !isSettled);
    if (repeats.length === 0) return;
    setTimeout(() => {
      queue.waiting.unshift(...failOverdue(repeats));
      this.schedule();
    }, PAUSE_MS);
  }
}

function takeWaiting<R extends WriteRecord>({ waiting }: Queue<R>): PendingCreate<R>[] {
  const isRepeat = waiting[0]?.unconfirmed !== undefined;
  let [count, length] = [0, 0];
  for (const { record, unconfirmed } of waiting) {
    // A repeated plant may fail again and again. So repeats are sent with other repeats, never with new creates.
    if (count === MAX_BATCH_PLANTS || (unconfirmed !== undefined) !== isRepeat) break;
    length += charactersOf(record);
    if (count > 0 && length > MAX_BATCH_CHARACTERS) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
