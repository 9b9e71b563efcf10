import { Injectable, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { MAX_PRINCIPAL_NAME_LENGTH } from '../auth/token-verifier.js';
import {
  DatabaseOverloadedError,
  DatabaseUnreachableError,
  isRejectedForNow,
  isUndecided,
} from '../database/database.errors.js';
import { PrismaService } from '../database/prisma.service.js';
import { StorePool } from '../database/store-pool.js';
import { assertMayExecute, assertReadyForCreates } from '../database/table-checks.js';
import {
  type ApiError,
  idempotencyKeyReused,
  invalidIdempotencyKey,
  overloaded,
  plantExists,
  storageTimeout,
  storageUnavailable,
  unforeseenFailure,
} from '../errors/api-error.js';
import { BatchWriter, WriteStatistics } from '../writer/batch-writer.js';
import { CitusPlantsRepository, findCitusShards } from './citus-plants.repository.js';
import { type HostTransaction, runIn } from './host-transaction.js';
import { checkPlant, isStorableText, type NewPlant, type Plant, PLANT_FIELDS } from './plant.dto.js';
import { type Creator, StoreOptions } from './plants.options.js';
import { type PlantRecord, PlantsRepository } from './plants.repository.js';

export const MAX_KEY_LENGTH = 255;

/** Write ids are counted from a random start: that of another process is most likely far away. They have 64 bits. */
let lastWriteId = randomBytes(8).readBigInt64BE() >> 1n;

export interface CreatePlantOptions {
  /** 1 to 255 characters. The same plant with the same key is created only once. @defaultValue none */
  readonly idempotencyKey?: string | undefined;
  /** The creator of the plant, stored with it. @defaultValue none */
  readonly creator?: Creator | undefined;
  /**
   * A transaction of the application. The plant is stored when that commits. `undefined` is refused, because the plant
   * would be stored even if your transaction rolls back. @defaultValue none: the create is committed by itself
   */
  readonly transaction?: HostTransaction;
}

/** Creates plants, for the route and for code of a host. Inject it in a module that imports the store. */
@Injectable()
export class PlantsService implements OnModuleInit {
  private writer: BatchWriter<PlantRecord> | undefined;

  /** @internal The declarations of hosts need no types of them. */
  constructor(
    private readonly options: StoreOptions,
    private readonly pool: StorePool,
    private readonly prisma: PrismaService,
    private readonly repository: PlantsRepository,
    private readonly statistics: WriteStatistics,
  ) {}

  /**
   * Not in a provider: a host's test that overrides this service needs no database.
   * @throws MigrationError if plants cannot be created, or could be lost
   */
  async onModuleInit(): Promise<void> {
    const { options, pool } = this;
    await assertReadyForCreates(pool);
    const shards = await findCitusShards(pool);
    const isDistributed = shards.length > 0;
    if (!isDistributed) await assertMayExecute(pool.execute);
    const repository = isDistributed ? new CitusPlantsRepository(this.prisma, pool, shards) : this.repository;
    // One connection is kept for the health check.
    const statements = Math.max(1, pool.size - 1);
    const limits = { statements, waiting: options.writeQueueLimit, timeout: pool.timeout };
    this.writer = new BatchWriter(repository, limits, this.statistics);
  }

  /**
   * Creates a plant, or recognises by the key that it was created before. It resolves when the plant is on disk.
   *
   * @param plant the plant, with its id as a bigint
   * @returns the plant without its id, as in the answer of HTTP
   * @throws {@link ApiError} whose `error` is the number of the failure:
   *   - 40003 if this is no plant, with every fault in the message, and 40004 if the key is empty or too long;
   *   - 40901 if the id is taken, and 40902 if this key created a plant of this id with other fields;
   *   - 50300 and 50301 if nothing was written; try again later;
   *   - 50400 if the outcome is unknown: try again only with a key, unchanged;
   *   - 50000 for any other failure, which is its `cause`.
   *
   *   In a transaction, the error of your driver comes instead of the numbers from 50000 on. Only if a trigger left the
   *   plant out, it is 50000. After 40003 to 40902 your transaction can go on.
   * @throws TypeError if an option cannot be used
   * @example
   * import { ApiError, type CreatePlantOptions, type NewPlant, type Plant, type PlantsService } from 'plant-store';
   * declare const plants: PlantsService; // injected
   *
   * const rose: NewPlant = { id: 1n, name: 'Rose' };
   * const options: CreatePlantOptions = { idempotencyKey: 'order-17' };
   * const created: Plant | undefined = await plants.create(rose, options).catch((failure: unknown) => {
   *   if (failure instanceof ApiError && failure.error === 40901) return undefined; // the id is taken
   *   throw failure;
   * });
   * console.log(created?.name);
   */
  async create(plant: NewPlant, options: CreatePlantOptions = {}): Promise<Plant> {
    const { idempotencyKey = null, creator } = options;
    if (idempotencyKey !== null) assertIdempotencyKey(idempotencyKey);
    const { id, ...answer } = checkPlant(plant);
    if (creator !== undefined) assertCreator(creator);
    const about = { idempotencyKey, createdBy: creator?.name ?? null, writeId: (lastWriteId += 1n) };
    // A field that is absent becomes null in the row.
    const record = { id, ...answer, ...about } as PlantRecord;
    const existing =
      'transaction' in options
        ? await this.repository.createInTransaction(runIn(options.transaction), record)
        : await this.write(record);
    if (existing) assertRepetition(record, existing);
    return answer;
  }

  private async write(record: PlantRecord): Promise<PlantRecord | undefined> {
    if (this.writer === undefined) throw new Error(NOT_STARTED);
    try {
      return await this.writer.create(record);
    } catch (error) {
      throw storageApiError(error);
    }
  }
}

const NOT_STARTED =
  'The store has not started. Create plants from onApplicationBootstrap on, or after app.init(). ' +
  'Nest starts no module that is loaded lazily: import PlantsModule where the application starts';

/** @throws ApiError 40004 if the key cannot be stored with a plant */
function assertIdempotencyKey(key: string): void {
  if (key === '') throw invalidIdempotencyKey('is empty');
  if (key.length > MAX_KEY_LENGTH) throw invalidIdempotencyKey(`has ${key.length} characters`);
  if (!isStorableText(key))
    throw invalidIdempotencyKey('contains U+0000 or half a character, which PostgreSQL cannot store');
}

/** @throws TypeError: a host or a token verifier may return any name, and the name is stored */
function assertCreator(creator: unknown): void {
  const { name } = Object(creator) as Record<string, unknown>;
  if (isStorableText(name) && name.length > 0 && name.length <= MAX_PRINCIPAL_NAME_LENGTH) return;
  const right = `{ name } with 1 to ${MAX_PRINCIPAL_NAME_LENGTH} characters without U+0000 and lone surrogates`;
  const origin = 'create(), createdBy of the options or a TokenVerifier gave it';
  throw new TypeError(`creator: its name cannot be stored, should be ${right}; ${origin}`);
}

/** Maps a failed create to the answer. The answer says whether something may have been written. */
function storageApiError(error: unknown): ApiError {
  if (error instanceof DatabaseUnreachableError) return storageUnavailable(error);
  if (error instanceof DatabaseOverloadedError) return overloaded(error);
  if (isUndecided(error)) return storageTimeout(error);
  return isRejectedForNow(error) ? storageUnavailable(error) : unforeseenFailure(error);
}

/** The id is taken. Throws unless an earlier create of the same principal, with the same key, stored the same plant. */
function assertRepetition(record: PlantRecord, existing: PlantRecord): void {
  const { id, idempotencyKey, createdBy } = record;
  const isSameKey = existing.idempotencyKey === idempotencyKey && existing.createdBy === createdBy;
  if (idempotencyKey === null || !isSameKey) throw plantExists(id);
  if (PLANT_FIELDS.some((field) => existing[field] !== (record[field] ?? null))) throw idempotencyKeyReused(id);
}
