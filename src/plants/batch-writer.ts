import { MAX_BODIES_BYTES } from '../http/read-json-body.js';
import { DatabaseOverloadedError, isPlantRejected, PlantLeftOutError } from '../prisma/database.errors.js';
import type { PlantRecord, PlantTable } from './plants.repository.js';
import type { PlantsMetrics } from './plants.metrics.js';
import { type Batch, dropLate, MAX_BATCH_PLANTS, PendingCreate, WriteQueue } from './write-queue.js';

/** The most characters of creates without a result. Each takes two bytes, and is held twice: here and in a statement. */
const MAX_PENDING_CHARACTERS = Math.floor(MAX_BODIES_BYTES / 4);
/** The most singles in flight. Each may wait for a lock, so they take half of all statements at most (rounded up). */
const MAX_SINGLES = 4;
/** The most statements in flight if the number of connections is unknown. */
const UNKNOWN_STATEMENTS = 8;
const SWEEP_EVERY_MS = 50;

interface WriterLimits {
  /** If there are several, one is kept for the health check. */
  readonly connections: number;
  /** The most creates that may wait. */
  readonly waiting: number;
  /** Milliseconds from a create to its deadline. */
  readonly timeout: number;
}

/**
 * Sends the creates that arrive together in one statement with one commit. A lone create is sent at once. Creates that
 * arrive while a statement is in flight form the next batch. Each create gets its own result.
 */
export class BatchWriter {
  /** By shard. The queue that sent last comes last. */
  private readonly queues = new Map<number, WriteQueue>();
  private readonly maxStatements: number;
  private inFlight = 0;
  private singlesInFlight = 0;
  private characters = 0;
  private isScheduled = false;
  private sweepTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly table: PlantTable,
    private readonly limits: WriterLimits,
    private readonly metrics: PlantsMetrics,
  ) {
    const { connections } = limits;
    this.maxStatements = Number.isFinite(connections) ? Math.max(1, connections - 1) : UNKNOWN_STATEMENTS;
    metrics.countWaiting = () => this.waiting;
  }

  /**
   * Resolves when the plant is committed: with undefined, or with the stored plant that already has the id.
   * @throws DatabaseOverloadedError if too many creates wait
   */
  async create(record: PlantRecord): Promise<PlantRecord | undefined> {
    const now = performance.now();
    const create = new PendingCreate(record, now + this.limits.timeout);
    const queue = this.queueOf(record);
    this.assertRoom(create, queue.hasSlot(now));
    queue.add(create);
    this.characters += create.size;
    this.schedule();
    try {
      return await create.result;
    } finally {
      this.characters -= create.size;
    }
  }

  private get waiting(): number {
    let waiting = 0;
    for (const { length } of this.queues.values()) waiting += length;
    return waiting;
  }

  private queueOf(record: PlantRecord): WriteQueue {
    const shard = this.table.shardOf(record);
    let queue = this.queues.get(shard);
    if (queue === undefined) this.queues.set(shard, (queue = new WriteQueue()));
    return queue;
  }

  /** Creates that the next statement can take do not count as waiting. A long plant is accepted if it is the only one. */
  private assertRoom({ size }: PendingCreate, hasSlot: boolean): void {
    const { waiting } = this;
    const sendable = hasSlot && this.inFlight < this.maxStatements ? MAX_BATCH_PLANTS : 0;
    const isLong = this.characters > 0 && this.characters + size > MAX_PENDING_CHARACTERS;
    if (isLong || waiting >= this.limits.waiting + sendable)
      throw new DatabaseOverloadedError(`${waiting} creates wait for the database`);
  }

  /** Sends after all requests of this turn of the event loop were read: their creates share a statement. */
  private schedule(): void {
    this.sweepTimer ??= setInterval(this.sweep, SWEEP_EVERY_MS);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.send);
  }

  private readonly send = (): void => {
    this.isScheduled = false;
    const now = performance.now();
    // A queue that is added again comes last in this loop.
    for (const [shard, queue] of this.queues) {
      if (this.inFlight === this.maxStatements) return;
      const maySendSingle = this.singlesInFlight < Math.min(MAX_SINGLES, Math.ceil(this.maxStatements / 2));
      const batch = queue.next(now, maySendSingle);
      if (batch === undefined) continue;
      this.queues.delete(shard);
      this.queues.set(shard, queue);
      // The current async context may be that of an earlier statement, whose request has its answer.
      void batch.context.runInAsyncScope(() => this.write(queue, batch));
    }
  };

  private readonly sweep = (): void => {
    const now = performance.now();
    for (const [shard, queue] of this.queues) {
      queue.sweep(now);
      if (queue.isIdle) this.queues.delete(shard);
    }
    if (this.queues.size > 0) {
      this.schedule();
      return;
    }
    clearInterval(this.sweepTimer);
    this.sweepTimer = undefined;
  };

  private async write(queue: WriteQueue, batch: Batch): Promise<void> {
    const { creates, isSingle } = batch;
    const singles = isSingle ? 1 : 0;
    this.inFlight += 1;
    this.singlesInFlight += singles;
    this.metrics.inFlight += creates.length;
    const [again, alone] = await this.insert(batch).then(
      (conflicts) => [conflicts, []],
      (error: unknown) => this.sortFailed(creates, error as Error),
    );
    this.metrics.inFlight -= creates.length;
    this.inFlight -= 1;
    this.singlesInFlight -= singles;
    queue.end(batch, again, alone);
    if (!queue.isIdle) this.schedule();
  }

  /** Settles the creates of a batch. Returns those that are sent again. */
  private async insert({ creates, sentAt }: Batch): Promise<PendingCreate[]> {
    const { metrics, table } = this;
    let stored: Set<string>;
    try {
      stored = new Set(await table.insert(creates.map(({ record }) => record)));
    } finally {
      metrics.observeStatement(creates.length, performance.now() - sentAt);
    }
    metrics.created += stored.size;
    const conflicts = creates.filter((create) => {
      const isStored = stored.has(String(create.record.writeId));
      if (isStored) create.settle();
      return !isStored;
    });
    return this.settleConflicts(dropLate(conflicts, performance.now()));
  }

  /** The id is taken by another plant or by an earlier statement of this create, or a trigger left the plant out. */
  private async settleConflicts(creates: readonly PendingCreate[]): Promise<PendingCreate[]> {
    if (creates.length === 0) return [];
    const plants = await this.table.findExisting(creates.map(({ record }) => record));
    return creates.filter((create) => {
      const { id, writeId } = create.record;
      const existing = plants.get(id);
      if (existing && existing.writeId !== writeId) {
        create.settle(existing);
      } else if (existing) {
        if (!create.isSettled) this.metrics.created += 1;
        create.settle();
      } else if (create.isLeftOut) {
        create.fail(new PlantLeftOutError());
      } else {
        create.isLeftOut = true;
        return true;
      }
      return false;
    });
  }

  /**
   * Decides which creates of a failed statement are sent again, together or alone, until their time is up (50400). The
   * others fail.
   */
  private sortFailed(creates: readonly PendingCreate[], error: Error): [PendingCreate[], PendingCreate[]] {
    const open = creates.filter(({ isSettled }) => !isSettled);
    if (this.table.isUndecided(error)) {
      for (const create of open) create.unconfirmed ??= error;
      return [open, []];
    }
    const isRejected = isPlantRejected(error);
    if (isRejected && creates.length > 1) return [[], open];
    // A rejected single is at fault itself. After another failure, only those that an earlier statement may have stored go on.
    const again = isRejected ? [] : open.filter(({ unconfirmed }) => unconfirmed !== undefined);
    for (const create of open) if (!again.includes(create)) create.fail(error);
    return [again, []];
  }
}
