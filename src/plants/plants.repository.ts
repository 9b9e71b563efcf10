import { Inject, Injectable } from '@nestjs/common';
import type { Query } from '../prisma/database.js';
import { idempotencyKeyReused, plantExists } from '../errors/api-error.js';
import type { PlantWriter } from './batch-writer.js';
import { type PlantRecord, PlantStatements, type StoredPlant } from './plant-statements.js';
import { PlantsHealth } from './plants.health.js';
import { PlantLeftOutError, storageError } from './storage-failure.js';

/** Injection token of the function that opens the writer at the start. */
export const OPEN_WRITER = Symbol('OPEN_WRITER');

@Injectable()
export class PlantsRepository {
  private writer: PlantWriter | undefined;

  constructor(
    @Inject(OPEN_WRITER) private readonly openWriter: () => Promise<PlantWriter>,
    private readonly statements: PlantStatements,
    private readonly health: PlantsHealth,
  ) {}

  /** @throws MigrationError if plants cannot be created, or could be lost */
  async open(): Promise<void> {
    this.writer = await this.openWriter();
  }

  /**
   * Stores a plant. It is durable when the promise resolves. A repetition with the same idempotency key also resolves.
   *
   * @throws ApiError 40901 or 40902 if the id is taken, 50300 or 50301 if nothing was written, 50400 if the outcome is
   * unknown, 50000 for any other failure
   */
  async create(record: PlantRecord): Promise<void> {
    if (this.writer === undefined)
      throw new Error('The store has not started. Create plants from onApplicationBootstrap on, or after app.init()');
    let existing: StoredPlant | undefined;
    try {
      existing = await this.writer.create(record);
    } catch (error) {
      this.health.noteFailure(error);
      throw storageError(error);
    }
    if (existing) assertRepetition(record, existing);
  }

  /**
   * Does the same in a transaction of the host, which can go on if the id is taken. Errors of the host's driver stay
   * unchanged, because the host decides by them what to do with its transaction.
   */
  async createIn(query: Query, record: PlantRecord): Promise<void> {
    if (await this.statements.insertIn(query, record)) return;
    const existing = await this.statements.findExistingIn(query, record.id);
    if (!existing) throw storageError(new PlantLeftOutError());
    assertRepetition(record, existing);
  }
}

/** The id is taken. Throws unless an earlier create with the same key stored the same plant. */
function assertRepetition({ id, idempotencyKey, name, tag }: PlantRecord, existing: StoredPlant): void {
  if (idempotencyKey === null || existing.idempotencyKey !== idempotencyKey) throw plantExists(id);
  if (existing.name !== name || existing.tag !== tag) throw idempotencyKeyReused(id);
}
