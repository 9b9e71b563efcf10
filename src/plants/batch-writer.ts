import { DatabaseOverloadedError, DatabaseTimeoutError } from '../database/database.errors.js';
import type { InsertTarget, PlantRecord, StoredPlant } from './plant-statements.js';
import type { PlantsMetrics } from './plants.metrics.js';
import { isPlantRejected, PlantLeftOutError } from './storage-failure.js';
import { MAX_BATCH_PLANTS, PendingCreate, type WriteBudget } from './write-queue.js';

/** Characters of the plants in one statement; a longer plant has a statement to itself. */
const MAX_BATCH_CHARACTERS = 2 ** 20;
/** A statement that takes longer waits for something of its own, a lock on a row for example, and holds back no other. */
const SLOW_STATEMENT_MS = 100;
/** A create in flight waits for so long behind its deadline: the answer of the server's own time limit comes before. */
const LATE_ANSWER_MS = 400;

/** Writes the plants of requests. */
export interface PlantWriter {
  /** Resolves when the plant is committed: with undefined, or with the plant that has the id already. */
  create(record: PlantRecord): Promise<StoredPlant | undefined>;
}

interface Statement {
  readonly creates: readonly PendingCreate[];
  readonly sentAt: number;
  /** It has one plant of a statement that was rejected. */
  readonly isSingle: boolean;
}

/**
 * Creates plants that arrive at the same time in one statement and one commit. A create that arrives alone is sent at once; those that
 * arrive while statements are in flight form the next one. Each create gets its own result.
 */
export class BatchWriter implements PlantWriter {
  /** In the order of their arrival; those that are sent again come first. */
  private waiting: PendingCreate[] = [];
  /** Plants of rejected statements: the one that was at fault is to fail alone. */
  private readonly singles: PendingCreate[] = [];
  /** Wait again from the next sweep on. */
  private readonly paused: PendingCreate[] = [];
  private readonly inFlight = new Set<Statement>();

  constructor(
    private readonly target: InsertTarget,
    private readonly budget: WriteBudget,
    private readonly timeout: number,
    private readonly metrics: PlantsMetrics,
  ) {}

  /** @throws DatabaseOverloadedError if too many creates wait */
  create(record: PlantRecord): Promise<StoredPlant | undefined> {
    const now = performance.now();
    const create = new PendingCreate(record, now + this.timeout);
    this.budget.admit(create, this.free(now));
    this.waiting.push(create);
    this.budget.schedule(this);
    return create.result;
  }

  get isIdle(): boolean {
    return this.waiting.length + this.singles.length + this.paused.length + this.inFlight.size === 0;
  }

  /** Repeats go before singles, and singles before new creates: what was sent already is the nearest to its deadline. */
  sendNext(now: number): boolean {
    const { singles, waiting } = this;
    const maySend = waiting.length > 0 && this.free(now) > 0;
    const isRepeat = maySend && waiting[0]?.unconfirmed !== undefined;
    if (singles.length > 0 && this.budget.hasFreeSingle && !isRepeat) this.send(singles.splice(0, 1), now, true);
    else if (maySend) this.send(this.takeWaiting(), now);
    else return false;
    return true;
  }

  sweep(now: number): void {
    const { singles, paused, inFlight, budget } = this;
    for (const create of paused) budget.add(create);
    this.waiting = [...paused.splice(0), ...this.waiting].filter((create) => {
      const isLate = this.endIfLate(create, now);
      if (isLate) budget.remove(create);
      return !isLate;
    });
    for (const create of singles) this.endIfLate(create, now);
    for (const create of [...inFlight].flatMap(({ creates }) => creates))
      if (!create.isSettled && now >= create.deadline + LATE_ANSWER_MS)
        create.fail(new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`));
  }

  /** Statements that may be sent now, besides those of singles. */
  private free(now: number): number {
    const { inFlight, budget } = this;
    const { pace } = this.target;
    let [all, fast] = [0, 0];
    for (const { isSingle, sentAt } of inFlight) {
      if (isSingle) continue;
      all += 1;
      if (now - sentAt <= SLOW_STATEMENT_MS) fast += 1;
    }
    return Math.max(0, Math.min(pace - fast, 2 * pace - all, budget.free));
  }

  private takeWaiting(): readonly PendingCreate[] {
    const { waiting } = this;
    let count = 0;
    let characters = 0;
    // One plant may fail in this way again and again: it takes only those along with which it was sent first.
    const areUnconfirmed = waiting[0]?.unconfirmed !== undefined;
    for (const { size, unconfirmed } of waiting) {
      if (count === MAX_BATCH_PLANTS || (unconfirmed !== undefined) !== areUnconfirmed) break;
      if (count > 0 && characters + size > MAX_BATCH_CHARACTERS) break;
      count += 1;
      characters += size;
    }
    const taken = waiting.splice(0, count);
    for (const create of taken) this.budget.remove(create);
    return taken;
  }

  /** After its deadline nothing is sent for a create. */
  private send(creates: readonly PendingCreate[], now: number, isSingle = false): void {
    const inTime = creates.filter((create) => !this.endIfLate(create, now));
    if (inTime.length > 0) void this.write({ creates: inTime, sentAt: now, isSingle });
  }

  private async write(statement: Statement): Promise<void> {
    const { creates, isSingle } = statement;
    this.inFlight.add(statement);
    this.budget.begin(isSingle);
    this.metrics.inFlight += creates.length;
    try {
      const taken = await this.insert(statement);
      if (taken.length > 0) await this.settleTaken(taken);
    } catch (error) {
      this.takeBack(creates, error as Error);
    }
    this.metrics.inFlight -= creates.length;
    this.budget.end(isSingle);
    this.inFlight.delete(statement);
    if (!this.isIdle) this.budget.schedule(this);
  }

  /** Returns the creates whose ids are taken; the others are stored. */
  private async insert({ creates, sentAt }: Statement): Promise<PendingCreate[]> {
    const { metrics, target } = this;
    metrics.statementPlants.observe(creates.length);
    try {
      const stored = new Set(await target.insert(creates.map(({ record }) => record)));
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

  /** An id was taken by another create, or by this one in an earlier statement; or the plant was left out, by a trigger for example. */
  private async settleTaken(taken: readonly PendingCreate[]): Promise<void> {
    const now = performance.now();
    const open = taken.filter((create) => !this.endIfLate(create, now));
    if (open.length === 0) return;
    const plants = await this.target.findExisting(open.map(({ record }) => record));
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
        this.paused.push(create);
      }
    }
  }

  private takeBack(creates: readonly PendingCreate[], error: Error): void {
    const open = creates.filter(({ isSettled }) => !isSettled);
    const isRejected = isPlantRejected(error);
    if (this.target.mayBeStored(error)) {
      for (const create of open) create.unconfirmed ??= error;
      this.paused.push(...open);
    } else if (isRejected && creates.length > 1) {
      this.singles.push(...open);
    } else {
      // What is no plant's fault would fail the others again, and nothing of them is written.
      for (const create of open)
        if (isRejected || !create.unconfirmed) create.fail(error);
        else this.paused.push(create);
    }
  }

  /** Whether a create that is to be sent has its result; it gets one if its time is up. */
  private endIfLate(create: PendingCreate, now: number): boolean {
    if (!create.isSettled && create.deadline <= now)
      create.fail(new DatabaseOverloadedError(`no statement could take the plant within ${this.timeout} ms`));
    return create.isSettled;
  }
}
