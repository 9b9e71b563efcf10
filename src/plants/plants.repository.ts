import { Inject, Injectable } from '@nestjs/common';
import type { Query } from '../database/database.js';
import { idempotencyKeyReused, plantExists } from '../errors/api-error.js';
import type { PlantWriter } from './batch-writer.js';
import { type PlantRecord, PlantStatements, type StoredPlant } from './plant-statements.js';
import { PlantsHealth } from './plants.health.js';
import { PlantLeftOutError, storageError } from './storage-failure.js';

/** Injection token of a function that opens the writer for the table as it is, at the start. */
export const OPEN_WRITER = Symbol('OPEN_WRITER');

/** The plants in PostgreSQL. */
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
   * Stores a plant, durably by the time the promise resolves, unless an earlier request with the same idempotency key has
   * stored this very plant.
   *
   * @throws ApiError 40901 or 40902 if the id is taken, 50300 or 50301 if nothing was written, 50400 if the outcome is unknown, 50000
   */
  async create(record: PlantRecord): Promise<void> {
    if (this.writer === undefined)
      throw new Error('the store has not started: its PlantsService waits for the application');
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
   * The same in a transaction of the host's, which can go on if the id is taken. What the host's driver throws stays
   * unchanged: what the host does with its transaction depends on it.
   */
  async createIn(query: Query, record: PlantRecord): Promise<void> {
    if (await this.statements.insertIn(query, record)) return;
    const existing = await this.statements.findExistingIn(query, record.id);
    if (!existing) throw storageError(new PlantLeftOutError());
    assertRepetition(record, existing);
  }
}

/** Throws unless an earlier create with the same key has stored the plant: the id is taken. */
function assertRepetition({ id, idempotencyKey, name, tag }: PlantRecord, existing: StoredPlant): void {
  if (idempotencyKey === null || existing.idempotencyKey !== idempotencyKey) throw plantExists(id);
  if (existing.name !== name || existing.tag !== tag) throw idempotencyKeyReused(id);
}
