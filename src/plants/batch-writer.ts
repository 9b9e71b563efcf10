import { Inject, Injectable } from '@nestjs/common';
import { ConnectionPoolExhaustedError, DatabaseTimeoutError } from '../database/database.errors.js';
import { GRACE_MS } from '../database/database.options.js';
import { Database } from '../database/database.js';
import { type CreateResult, PlantStatements, type PlantRecord } from './plant-sql.js';
import { HolderLookupError } from './plants.errors.js';
import { PendingCreate, StatementPace, MOST_PLANTS, WriteQueue } from './write-queue.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants.options.js';
import { PlantsStatistics } from './plants-statistics.js';
import { isPlantRejected, isUndecided } from './storage-failure.js';

/** Statements that are under way, however long they take, unless that left too few connections for all else. */
const MOST_UNDER_WAY = 8;
/** Connections for look-ups, the health check, and plants that are tried again alone. */
const OTHER_CONNECTIONS = 1;
/** Plants of a statement that was rejected that are tried again at a time. */
const ALONE_AT_A_TIME = 4;

/**
 * Creates plants that come at the same time in one statement and one commit. A create that comes alone goes at once; those
 * that come while statements are under way form the next one.
 */
@Injectable()
export class BatchWriter {
  private readonly queue = new WriteQueue();
  private readonly pace: StatementPace;
  private isScheduled = false;

  constructor(
    private readonly statements: PlantStatements,
    private readonly database: Database,
    private readonly statistics: PlantsStatistics,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
  ) {
    const most = Math.max(1, Math.min(MOST_UNDER_WAY, database.connections - OTHER_CONNECTIONS));
    this.pace = new StatementPace(most, () => {
      this.schedule();
    });
  }

  /** Resolves when the statement with the plant is committed; rejects with what became of it instead. */
  create(plant: PlantRecord): Promise<CreateResult> {
    const pending = new PendingCreate(plant);
    // What a statement can be sent with now does not wait.
    this.queue.add(pending, this.settings.writeQueueLimit + this.pace.free * MOST_PLANTS);
    this.statistics.waiting = this.queue.length;
    pending.timer = setTimeout(() => {
      this.timeUp(pending);
    }, this.database.timeout);
    this.schedule();
    return pending.verdict;
  }

  /** Sends not before the requests that have arrived together have all come to the queue. */
  private schedule(): void {
    if (this.isScheduled || this.pace.free === 0 || this.queue.length === 0) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.pace.free > 0 && this.queue.length > 0) void this.write(this.queue.takeBatch(), this.pace.begin());
      this.statistics.waiting = this.queue.length;
    });
  }

  private async write(batch: readonly PendingCreate[], onAnswer?: () => void): Promise<void> {
    try {
      const taken = await this.insert(batch, onAnswer);
      if (taken.length > 0) await this.judge(taken);
    } catch (error) {
      // Each by itself, so that the one that was rejected fails alone.
      if (batch.length > 1 && isPlantRejected(error)) await this.writeEach(batch, isUndecided(error));
      else for (const pending of batch) pending.fail(error);
    }
  }

  /** Returns those whose ids were taken; the others are stored, and told so. */
  private async insert(batch: readonly PendingCreate[], onAnswer?: () => void): Promise<PendingCreate[]> {
    this.statistics.statements += 1;
    this.statistics.inFlight += batch.length;
    let stored: Set<string>;
    try {
      stored = new Set(await this.statements.insert(batch.map(({ plant }) => plant)));
    } finally {
      this.statistics.inFlight -= batch.length;
      onAnswer?.();
    }
    this.statistics.created += stored.size;
    return batch.filter((pending) => {
      if (!stored.delete(String(pending.plant.id))) return true;
      pending.succeed({ stored: true });
      return false;
    });
  }

  private async writeEach(batch: readonly PendingCreate[], isUncertain: boolean): Promise<void> {
    for (const pending of batch) pending.isUncertain = isUncertain;
    const waiting = batch.values();
    const writeNext = async (): Promise<void> => {
      for (const pending of waiting) if (!pending.settled) await this.write([pending]);
    };
    await Promise.all(Array.from({ length: ALONE_AT_A_TIME }, writeNext));
  }

  /** What is taken may have been so by this very request, sent before: by its key the plant tells. */
  private async judge(taken: readonly PendingCreate[]): Promise<void> {
    const keyed = [];
    for (const pending of taken) {
      if (pending.plant.idempotencyKey !== null) keyed.push(pending);
      else if (pending.isUncertain) pending.fail(new Error('the id is taken, perhaps by this plant'));
      else pending.succeed({ stored: false });
    }
    if (keyed.length === 0) return;
    for (const pending of keyed) pending.isTaken = true;
    try {
      const holders = await this.statements.findHolders(keyed.map(({ plant }) => plant.id));
      for (const pending of keyed) {
        const holder = holders.get(pending.plant.id);
        if (holder) pending.succeed({ stored: false, holder });
        else pending.fail(new HolderLookupError('the plant that held the id is gone'));
      }
    } catch (cause) {
      for (const pending of keyed) pending.fail(new HolderLookupError('the look-up failed', { cause }));
    }
  }

  private timeUp(pending: PendingCreate): void {
    const { timeout } = this.database;
    if (this.queue.remove(pending)) {
      this.statistics.waiting = this.queue.length;
      pending.fail(new ConnectionPoolExhaustedError(`no statement could take the plant within ${timeout} ms`));
      return;
    }
    // The database's own word comes first where there is one.
    pending.timer = setTimeout(() => {
      const message = `the database did not answer within ${timeout} ms`;
      pending.fail(pending.isTaken ? new HolderLookupError(message) : new DatabaseTimeoutError(message));
    }, 2 * GRACE_MS);
  }
}
