import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { ConnectionPoolExhaustedError, DatabaseTimeoutError } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { GRACE_MS } from '../database/database.options.js';
import { CreateFailures } from './create-failures.js';
import { InsertConcurrency, type Lane, Lanes } from './lanes.js';
import type { PlantRecord, StoredPlant } from './plant-sql.js';
import { PlantsStatistics } from './plants-statistics.js';
import { ExistingPlantLookupError } from './plants.errors.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants.options.js';
import { hasWaited, isPlantRejected, isUndecided, mayPass } from './storage-failure.js';
import { type CreateResult, MAX_BATCH_PLANTS, PendingCreate, WriteQueue } from './write-queue.js';

/** After so many single inserts in a row, the next create is expected to arrive alone. */
const MIN_SINGLE_INSERTS = 100;
/** So many plants of a rejected statement are sent again together, and each by itself only if they are rejected too. */
const PART_PLANTS = 20;
/** Before a statement is sent again: the database may be back by then. */
const REPEAT_MS = 50;

/**
 * Creates plants that arrive at the same time in one statement and one commit. A create that arrives alone is sent at once;
 * those that arrive while statements are in flight form the next one. Each statement has plants of one lane.
 */
@Injectable()
export class BatchWriter {
  private readonly queue: WriteQueue;
  private readonly concurrency: InsertConcurrency;
  private isScheduled = false;
  /** Statements in a row that had one plant. */
  private singleInserts = 0;
  /** Stored with the next plant. Small enough to count from there within 64 bits; random, so that no other process has the same. */
  private nextWriteId = randomBytes(8).readBigInt64BE() >> 1n;

  constructor(
    private readonly database: Database,
    private readonly statistics: PlantsStatistics,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
    private readonly lanes: Lanes,
    private readonly failures: CreateFailures,
  ) {
    this.queue = new WriteQueue(statistics);
    this.concurrency = new InsertConcurrency(database.connections, this.schedule);
    lanes.onChange = this.schedule;
  }

  /** Resolves when the statement with the plant is committed, or its id is found taken; rejects if the statement fails. */
  create(plant: PlantRecord): Promise<CreateResult> {
    const lane = this.lanes.find(plant.id);
    if (lane.refusal) throw lane.refusal;
    const pending = new PendingCreate(plant);
    // A create that a statement can take now does not wait.
    this.queue.add(lane, pending, this.settings.writeQueueLimit + this.concurrency.free(lane) * MAX_BATCH_PLANTS);
    pending.timer = setTimeout(() => {
      this.timeUp(lane, pending);
    }, this.database.timeout);
    this.schedule();
    return pending.result;
  }

  private readonly schedule = (): void => {
    if (this.isScheduled || this.queue.isEmpty) return;
    this.isScheduled = true;
    // All requests that have arrived together are to come to the queue first. A client that has long been alone would only
    // lose this time.
    if (this.concurrency.isIdle && this.singleInserts >= MIN_SINGLE_INSERTS) process.nextTick(this.send);
    else setImmediate(this.send);
  };

  private readonly send = (): void => {
    this.isScheduled = false;
    for (const lane of this.queue.lanes) {
      const { refusal } = lane;
      if (!refusal && this.concurrency.free(lane) === 0) continue;
      const batch = this.queue.takeBatch(lane, !refusal && this.concurrency.partsWait);
      if (batch.length === 0) continue;
      if (refusal) {
        for (const pending of batch) pending.fail(refusal);
        continue;
      }
      this.singleInserts = batch.length === 1 ? this.singleInserts + 1 : 0;
      void this.write(lane, batch, this.concurrency.begin(lane, batch[0]?.part !== undefined));
    }
  };

  private async write(lane: Lane, batch: readonly PendingCreate[], onAnswer?: () => void): Promise<void> {
    const writeId = this.nextWriteId;
    this.nextWriteId += BigInt(batch.length);
    let taken: PendingCreate[];
    try {
      taken = await this.insert(lane, batch, writeId, onAnswer);
    } catch (error) {
      const isServerLost = lane.noteFailure(error);
      if (isServerLost || isUndecided(error))
        for (const [i, pending] of batch.entries()) (pending.doubts ??= new Map()).set(writeId + BigInt(i), error);
      if (batch.length > 1 && !isServerLost && isPlantRejected(error)) {
        for (const pending of batch) if (pending.state === 'late') pending.fail(this.notSent());
        // The rejected one is to fail alone, after a few statements.
        this.queue.split(lane, batch, batch.length > PART_PLANTS && !hasWaited(error) ? PART_PLANTS : 1);
        this.schedule();
        return;
      }
      for (const pending of batch) if (!pending.doubts) pending.fail(error);
      // PostgreSQL waits for a transaction that holds an id: each is then inserted, or its id is taken, perhaps by itself.
      return this.repeat(lane, batch, error, (again) => this.write(lane, again));
    }
    if (taken.length > 0) await this.resolveConflicts(lane, taken);
  }

  /** Returns the creates with taken ids; the others are stored, and have their result. */
  private async insert(
    lane: Lane,
    batch: readonly PendingCreate[],
    writeId: bigint,
    onAnswer?: () => void,
  ): Promise<PendingCreate[]> {
    const { statistics } = this;
    statistics.statementPlants.observe(batch.length);
    statistics.inFlight += batch.length;
    const sentAt = performance.now();
    let stored: string[];
    let failure: unknown;
    try {
      stored = await lane.insert(
        batch.map(({ plant }) => plant),
        writeId,
      );
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      statistics.statementSeconds.observeSince(sentAt);
      statistics.inFlight -= batch.length;
      if (onAnswer) lane.afterStatement(failure, onAnswer);
    }
    statistics.created += stored.length;
    const ids = new Set(stored);
    return batch.filter((pending) => {
      if (!ids.delete(String(pending.plant.id))) return true;
      pending.succeed({ stored: true });
      return false;
    });
  }

  /**
   * An id may have been taken by an earlier attempt of the same request, as its key shows; or by this very create, in a first
   * statement that failed; or it is free, and a trigger left the plant out. These need the stored plant.
   */
  private async resolveConflicts(lane: Lane, taken: readonly PendingCreate[]): Promise<void> {
    const unclear = [];
    for (const pending of taken) {
      if (pending.plant.idempotencyKey !== null || pending.doubts || this.failures.triggers.length > 0)
        unclear.push(pending);
      else pending.succeed({ stored: false });
    }
    if (unclear.length === 0) return;
    for (const pending of unclear) if (pending.state === 'active') pending.state = 'taken';
    let plants: Map<bigint, StoredPlant>;
    try {
      plants = await lane.findExisting(unclear.map(({ plant }) => plant));
    } catch (cause) {
      lane.noteFailure(cause);
      const error = new ExistingPlantLookupError('the look-up failed', { cause });
      return this.repeat(lane, unclear, error, (again) => this.resolveConflicts(lane, again));
    }
    let missing: Error | undefined;
    for (const pending of unclear) {
      const existingPlant = plants.get(pending.plant.id);
      if (!existingPlant) {
        pending.fail((missing ??= await this.failures.explainMissing()));
      } else if (existingPlant.writeId !== null && pending.doubts?.has(existingPlant.writeId)) {
        this.statistics.created += 1;
        pending.succeed({ stored: true });
      } else {
        pending.succeed({ stored: false, existingPlant });
      }
    }
  }

  /** Does the work again after a pause, for creates that wait and have time left; not if the failure is permanent. */
  private async repeat(
    lane: Lane,
    batch: readonly PendingCreate[],
    error: unknown,
    work: (batch: readonly PendingCreate[]) => Promise<void>,
  ): Promise<void> {
    const isPassing = mayPass(error) && batch.some(({ state }) => state !== 'settled');
    // To a server that hangs, each statement would hold a connection.
    if (isPassing)
      do await new Promise((done) => setTimeout(done, REPEAT_MS));
      while (lane.refusal && batch.some(({ hasTime }) => hasTime));
    const isRepeated = ({ hasTime }: PendingCreate): boolean => isPassing && hasTime;
    for (const pending of batch) if (pending.state !== 'settled' && !isRepeated(pending)) pending.fail(error);
    const again = batch.filter(isRepeated);
    if (again.length > 0) await work(again);
  }

  private timeUp(lane: Lane, pending: PendingCreate): void {
    const { timeout } = this.database;
    if (this.queue.remove(lane, pending)) {
      pending.fail(this.notSent());
      return;
    }
    const message = `the database did not answer within ${timeout} ms`;
    const isTaken = pending.state === 'taken';
    pending.state = 'late';
    // If the database answers at its own time limit, that answer comes first.
    pending.timer = setTimeout(() => {
      pending.fail(isTaken ? new ExistingPlantLookupError(message) : new DatabaseTimeoutError(message));
    }, 2 * GRACE_MS);
  }

  private notSent(): ConnectionPoolExhaustedError {
    return new ConnectionPoolExhaustedError(`no statement could take the plant within ${this.database.timeout} ms`);
  }
}
