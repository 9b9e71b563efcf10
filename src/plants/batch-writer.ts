import { DatabaseTimeoutError } from '../prisma/database.errors.js';
import type { PlantRecord, StoredPlant, WriterStatements } from './plant-statements.js';
import type { PlantsMetrics } from './plants.metrics.js';
import { isPlantRejected, PlantLeftOutError } from './storage-failure.js';
import { PendingCreate, type WriteBudget, WriteQueue } from './write-queue.js';

/** A slower statement waits for something, a row lock for example. It must not hold back the others. */
const SLOW_STATEMENT_MS = 100;
/** A create in flight gets an answer this long after its deadline. The time limit of the server ends before that. */
const LATE_ANSWER_MS = 400;

export interface PlantWriter {
  /** Resolves when the plant is committed: with undefined, or with the stored plant that already has the id. */
  create(record: PlantRecord): Promise<StoredPlant | undefined>;
}

/** The creates of one statement in flight. */
interface Batch {
  readonly creates: readonly PendingCreate[];
  readonly sentAt: number;
  /** The only plant is one of a rejected batch. */
  readonly isSingle: boolean;
}

/**
 * Sends the creates that arrive together in one statement with one commit. A lone create is sent at once. Creates that
 * arrive while statements are in flight form the next batch. Each create gets its own result.
 */
export class BatchWriter implements PlantWriter {
  private readonly queue: WriteQueue;
  private readonly inFlight = new Set<Batch>();

  constructor(
    private readonly statements: WriterStatements,
    private readonly budget: WriteBudget,
    private readonly timeout: number,
    private readonly metrics: PlantsMetrics,
  ) {
    this.queue = new WriteQueue(budget, timeout);
  }

  /** @throws DatabaseOverloadedError if too many creates wait */
  create(record: PlantRecord): Promise<StoredPlant | undefined> {
    const now = performance.now();
    const create = new PendingCreate(record, now + this.timeout);
    this.queue.add(create, this.freeSlots(now));
    this.budget.schedule(this);
    return create.result;
  }

  get isIdle(): boolean {
    return this.queue.isEmpty && this.inFlight.size === 0;
  }

  sendNext(now: number): boolean {
    const { queue } = this;
    const hasSlot = queue.hasBatch && this.freeSlots(now) > 0;
    // Repeats go first, then singles, then new creates: the oldest is nearest to its deadline.
    const isRepeat = hasSlot && queue.beginsWithRepeat;
    if (queue.singles.length > 0 && this.budget.maySendSingle && !isRepeat)
      this.send(queue.singles.splice(0, 1), now, true);
    else if (hasSlot) this.send(queue.takeBatch(), now, false);
    else return false;
    return true;
  }

  sweep(now: number): void {
    this.queue.sweep(now);
    for (const create of [...this.inFlight].flatMap(({ creates }) => creates))
      if (!create.isSettled && now >= create.deadline + LATE_ANSWER_MS)
        create.fail(new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`));
  }

  /** The number of batches that may be sent now. */
  private freeSlots(now: number): number {
    const { pace } = this.statements;
    let [all, fast] = [0, 0];
    for (const { isSingle, sentAt } of this.inFlight) {
      if (isSingle) continue;
      all += 1;
      if (now - sentAt <= SLOW_STATEMENT_MS) fast += 1;
    }
    return Math.max(0, Math.min(pace - fast, 2 * pace - all, this.budget.freeSlots));
  }

  private send(creates: readonly PendingCreate[], now: number, isSingle: boolean): void {
    const open = this.queue.endLate(creates, now);
    if (open.length > 0) void this.write({ creates: open, sentAt: now, isSingle });
  }

  private async write(batch: Batch): Promise<void> {
    const { creates, isSingle } = batch;
    this.inFlight.add(batch);
    this.budget.acquireSlot(isSingle);
    this.metrics.inFlight += creates.length;
    try {
      const conflicts = await this.insert(batch);
      if (conflicts.length > 0) await this.settleConflicts(conflicts);
    } catch (error) {
      this.settleFailure(creates, error as Error);
    }
    this.metrics.inFlight -= creates.length;
    this.budget.releaseSlot(isSingle);
    this.inFlight.delete(batch);
    if (!this.isIdle) this.budget.schedule(this);
  }

  /** Settles the creates whose plants were stored. Returns the others. */
  private async insert({ creates, sentAt }: Batch): Promise<PendingCreate[]> {
    const { metrics, statements } = this;
    metrics.statementPlants.observe(creates.length);
    try {
      const stored = new Set(await statements.insert(creates.map(({ record }) => record)));
      metrics.created += stored.size;
      return creates.filter((create) => {
        const isStored = stored.has(String(create.record.writeId));
        if (isStored) create.succeed();
        return !isStored;
      });
    } finally {
      metrics.statementSeconds.observeSince(sentAt);
    }
  }

  /** The id is taken by another plant or by an earlier statement of this create, or a trigger left the plant out. */
  private async settleConflicts(creates: readonly PendingCreate[]): Promise<void> {
    const open = this.queue.endLate(creates, performance.now());
    if (open.length === 0) return;
    const plants = await this.statements.findExisting(open.map(({ record }) => record));
    for (const create of open) {
      const { id, writeId } = create.record;
      const existing = plants.get(id);
      if (existing && existing.writeId !== writeId) {
        create.succeed(existing);
      } else if (existing) {
        if (!create.isSettled) this.metrics.created += 1;
        create.succeed();
      } else if (create.isLeftOut) {
        create.fail(new PlantLeftOutError());
      } else {
        create.isLeftOut = true;
        this.queue.paused.push(create);
      }
    }
  }

  /** Decides which creates of a failed statement are sent again. */
  private settleFailure(creates: readonly PendingCreate[], error: Error): void {
    const open = creates.filter(({ isSettled }) => !isSettled);
    const isRejected = isPlantRejected(error);
    if (this.statements.mayBeStored(error)) {
      for (const create of open) create.unconfirmed ??= error;
      this.queue.paused.push(...open);
    } else if (isRejected && creates.length > 1) {
      this.queue.singles.push(...open);
    } else {
      // A single that was rejected fails. Another failure is no plant's fault, and would fail all of them again.
      for (const create of open)
        if (isRejected || !create.unconfirmed) create.fail(error);
        else this.queue.paused.push(create);
    }
  }
}
