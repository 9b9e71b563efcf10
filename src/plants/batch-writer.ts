import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  afterRelease,
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
} from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { GRACE_MS } from '../database/database.options.js';
import { loadTracing, traceStatement } from '../tracing/statement-spans.js';
import { CreateFailures } from './create-failures.js';
import { type PlantRecord, PlantStatements, randomWriteId, type StoredPlant } from './plant-sql.js';
import { PlantsStatistics } from './plants-statistics.js';
import { ExistingPlantLookupError } from './plants.errors.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants.options.js';
import { type Shard, Shards } from './shards.js';
import { hasWaited, isNodeFailure, isPlantRejected, isUndecided, mayPass } from './storage-failure.js';
import { type CreateResult, InsertConcurrency, MAX_BATCH_PLANTS, PendingCreate, WriteQueue } from './write-queue.js';

/** Connections where their number is not known. */
const MAX_UNKNOWN_CONNECTIONS = 9;
/** Connections for look-ups, the health check, and statements that are sent again. */
const OTHER_CONNECTIONS = 1;
/** Single inserts in a row from which on the next create is taken for one that arrives alone. */
const MIN_SINGLE_INSERTS = 100;
/** So many plants of a rejected statement are sent again together, and each by itself only if they are rejected too. */
const PART_PLANTS = 20;
/** Statements of parts in flight: each may wait for a lock as long as a create may, and the others are for new creates. */
const MAX_PART_STATEMENTS = 4;
/** A node is probed if a statement for it takes longer. */
const SUSPECT_MS = 1000;
/** Before a statement is sent again: the database may be back by then. */
const REPEAT_MS = 50;

/**
 * Creates plants that arrive at the same time in one statement and one commit. A create that arrives alone is sent at once;
 * those that arrive while statements are in flight form the next one. Each statement has plants of one shard.
 */
@Injectable()
export class BatchWriter implements OnModuleInit {
  private readonly queue: WriteQueue;
  private readonly concurrency: InsertConcurrency;
  private readonly maxPartStatements: number;
  private partsInFlight = 0;
  private isScheduled = false;
  /** Statements in a row that had one plant. */
  private singleInserts = 0;

  constructor(
    private readonly statements: PlantStatements,
    private readonly database: Database,
    private readonly statistics: PlantsStatistics,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
    private readonly shards: Shards,
    private readonly failures: CreateFailures,
  ) {
    this.queue = new WriteQueue(statistics);
    const connections = Number.isFinite(database.connections) ? database.connections : MAX_UNKNOWN_CONNECTIONS;
    const max = Math.max(1, connections - OTHER_CONNECTIONS);
    this.maxPartStatements = Math.min(MAX_PART_STATEMENTS, Math.ceil(max / 2));
    this.concurrency = new InsertConcurrency(max, () => {
      this.schedule();
    });
  }

  /** So that the first create is traced too. */
  onModuleInit(): Promise<void> | undefined {
    return loadTracing();
  }

  /** Resolves when the statement with the plant is committed, or its id is found taken; rejects where the statement fails. */
  create(plant: PlantRecord): Promise<CreateResult> {
    const shard = this.shards.find(plant.id);
    if (shard.node?.isAway) throw unreachable(shard);
    const pending = new PendingCreate(plant);
    // A create that a statement can take now does not wait.
    this.queue.add(shard, pending, this.settings.writeQueueLimit + this.concurrency.free(shard) * MAX_BATCH_PLANTS);
    pending.timer = setTimeout(() => {
      this.timeUp(shard, pending);
    }, this.database.timeout);
    this.schedule();
    return pending.result;
  }

  private schedule(): void {
    if (this.isScheduled || this.queue.isEmpty) return;
    this.isScheduled = true;
    // All requests that have arrived together are to come to the queue first. A client that has long been alone would only
    // lose this time.
    if (this.concurrency.isIdle && this.singleInserts >= MIN_SINGLE_INSERTS) process.nextTick(this.send);
    else setImmediate(this.send);
  }

  private readonly send = (): void => {
    this.isScheduled = false;
    for (const shard of this.queue.shards) {
      if (!shard.node?.isAway && this.concurrency.free(shard) === 0) continue;
      const batch = this.queue.takeBatch(shard, !shard.node?.isAway && this.partsInFlight >= this.maxPartStatements);
      if (batch.length === 0) continue;
      if (shard.node?.isAway) {
        for (const pending of batch) pending.fail(unreachable(shard));
        continue;
      }
      const now = performance.now();
      for (const { arrivedAt } of batch) this.statistics.queueSeconds.observeSince(arrivedAt, now);
      this.singleInserts = batch.length === 1 ? this.singleInserts + 1 : 0;
      const end = this.concurrency.begin(shard);
      const isPart = batch[0]?.part !== undefined;
      if (isPart) this.partsInFlight += 1;
      const onAnswer = (): void => {
        if (isPart) this.partsInFlight -= 1;
        end();
      };
      void this.write(shard, batch, onAnswer);
    }
  };

  private async write(shard: Shard, batch: readonly PendingCreate[], onAnswer?: () => void): Promise<void> {
    const writeId = randomWriteId();
    let taken: PendingCreate[];
    try {
      taken = await this.insert(shard, batch, writeId, onAnswer);
    } catch (error) {
      const isNodeLost = this.noteFailure(shard, error);
      if (isNodeLost || isUndecided(error))
        for (const [i, pending] of batch.entries()) (pending.doubts ??= new Map()).set(writeId + BigInt(i), error);
      if (batch.length > 1 && !isNodeLost && isPlantRejected(error)) {
        for (const pending of batch) if (pending.isLate) pending.fail(this.notSent());
        // The rejected one is to fail alone, after a few statements.
        this.queue.split(shard, batch, batch.length > PART_PLANTS && !hasWaited(error) ? PART_PLANTS : 1);
        this.schedule();
        return;
      }
      for (const pending of batch) if (!pending.doubts) pending.fail(error);
      // PostgreSQL waits for a transaction that holds an id: each is then inserted, or its id is taken, perhaps by itself.
      return this.repeat(shard, batch, error, (again) => this.write(shard, again));
    }
    if (taken.length > 0) await this.resolveConflicts(shard, taken);
  }

  /** Returns the creates whose ids were taken; the others are stored, and have their result. */
  private async insert(
    shard: Shard,
    batch: readonly PendingCreate[],
    writeId: bigint,
    onAnswer?: () => void,
  ): Promise<PendingCreate[]> {
    this.statistics.statements += 1;
    this.statistics.statementPlants.observe(batch.length);
    this.statistics.inFlight += batch.length;
    const plants = batch.map(({ plant }) => plant);
    const { node } = shard;
    const suspicion = node && setTimeout(() => void this.shards.check(node).then(this.send), SUSPECT_MS);
    const sentAt = performance.now();
    let stored: Set<string>;
    let failure: unknown;
    try {
      stored = new Set(await traceStatement('INSERT', batch, () => this.statements.insert(plants, writeId, !!node)));
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      clearTimeout(suspicion);
      this.statistics.statementSeconds.observeSince(sentAt);
      this.statistics.inFlight -= batch.length;
      // A node that hangs holds the connections of its statements for longer than a create waits.
      if (node) afterRelease(failure, () => onAnswer?.());
      else onAnswer?.();
    }
    this.statistics.created += stored.size;
    return batch.filter((pending) => {
      if (!stored.delete(String(pending.plant.id))) return true;
      pending.succeed({ stored: true });
      return false;
    });
  }

  /**
   * An id may have been taken by the same request, sent before, whose key tells; or by this very create, whose first statement
   * failed; or it is free, and a trigger left the plant out. These need the stored plant.
   */
  private async resolveConflicts(shard: Shard, taken: readonly PendingCreate[]): Promise<void> {
    const unclear = [];
    for (const pending of taken) {
      if (pending.plant.idempotencyKey !== null || pending.doubts || this.failures.triggers.length > 0)
        unclear.push(pending);
      else pending.succeed({ stored: false });
    }
    if (unclear.length === 0) return;
    for (const pending of unclear) pending.isTaken = true;
    let plants: Map<bigint, StoredPlant>;
    try {
      const ids = unclear.map(({ plant }) => plant.id);
      plants = await traceStatement('SELECT', unclear, () => this.statements.findExisting(ids, !!shard.node));
    } catch (cause) {
      this.noteFailure(shard, cause);
      const error = new ExistingPlantLookupError('the look-up failed', { cause });
      return this.repeat(shard, unclear, error, (again) => this.resolveConflicts(shard, again));
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

  /** Does the work again for the creates that wait and have time left, after a pause; none is done where the cause will not pass. */
  private async repeat(
    shard: Shard,
    batch: readonly PendingCreate[],
    error: unknown,
    work: (batch: readonly PendingCreate[]) => Promise<void>,
  ): Promise<void> {
    const isPassing = mayPass(error) && batch.some(({ settled }) => !settled);
    const hasTime = ({ settled, isLate }: PendingCreate): boolean => isPassing && !settled && !isLate;
    // To a node that hangs, each statement would hold a connection.
    if (isPassing)
      do await new Promise((done) => setTimeout(done, REPEAT_MS));
      while (shard.node?.isAway && batch.some(hasTime));
    for (const pending of batch) if (!pending.settled && !hasTime(pending)) pending.fail(error);
    const again = batch.filter(hasTime);
    if (again.length > 0) await work(again);
  }

  /** Whether the node of the shard was lost, so that the result of the statement is not known. */
  private noteFailure({ node }: Shard, error: unknown): boolean {
    if (!node || !isNodeFailure(error)) return false;
    this.shards.markAway(node, error);
    this.schedule();
    return true;
  }

  private timeUp(shard: Shard, pending: PendingCreate): void {
    const { timeout } = this.database;
    if (this.queue.remove(shard, pending)) {
      pending.fail(this.notSent());
      return;
    }
    pending.isLate = true;
    // Where the database answers at its own time limit, that answer comes first.
    pending.timer = setTimeout(() => {
      const message = `the database did not answer within ${timeout} ms`;
      pending.fail(pending.isTaken ? new ExistingPlantLookupError(message) : new DatabaseTimeoutError(message));
    }, 2 * GRACE_MS);
  }

  private notSent(): ConnectionPoolExhaustedError {
    return new ConnectionPoolExhaustedError(`no statement could take the plant within ${this.database.timeout} ms`);
  }
}

function unreachable({ node }: Shard): DatabaseUnreachableError {
  return new DatabaseUnreachableError(`shards of ${node?.name ?? ''} do not answer`);
}
