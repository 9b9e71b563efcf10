import { Injectable } from '@nestjs/common';
import type { Query } from '../database/database.js';
import { idempotencyKeyReused, plantExists } from '../errors/api-error.js';
import { BatchWriter } from './batch-writer.js';
import { CreateFailures } from './create-failures.js';
import { FIELD_NAMES } from './new-plant.js';
import type { CreateResult } from './write-queue.js';
import { type PlantRecord, PlantStatements } from './plant-sql.js';
import { storageError } from './storage-failure.js';

@Injectable()
export class PlantsRepository {
  constructor(
    private readonly writer: BatchWriter,
    private readonly statements: PlantStatements,
    private readonly failures: CreateFailures,
  ) {}

  /**
   * Stores a plant, durably by the time the promise resolves, unless an earlier request with the same idempotency key has
   * stored this very plant.
   *
   * @throws ApiError 40901 or 40902: the id is taken, and nothing was written
   * @throws ApiError 50300 or 50301: nothing was written
   * @throws ApiError 50400: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<void> {
    resolveConflict(plant, await this.write(plant));
  }

  /**
   * The same in a transaction of the host's, which can go on if the id is taken. What the host's driver throws stays
   * unchanged: what the host does with its transaction depends on it.
   */
  async createIn(query: Query, plant: PlantRecord): Promise<void> {
    const stored = await this.statements.insertIn(query, plant);
    const { triggers } = this.failures;
    const isUnclear = !stored && (plant.idempotencyKey !== null || triggers.length > 0);
    const existingPlant = isUnclear ? await this.statements.findExistingIn(query, plant.id) : undefined;
    if (isUnclear && !existingPlant && triggers.length > 0) throw storageError(await this.failures.explainMissing());
    resolveConflict(plant, { stored, existingPlant });
  }

  private async write(plant: PlantRecord): Promise<CreateResult> {
    try {
      return await this.writer.create(plant);
    } catch (error) {
      const failure = storageError(error);
      if (failure.error === 50000) this.failures.count(error);
      throw failure;
    }
  }
}

/** Throws if the id is taken, but not if the create itself or an earlier one with the same key has stored the plant. */
function resolveConflict(plant: PlantRecord, { stored, existingPlant }: CreateResult): void {
  if (stored) return;
  if (plant.idempotencyKey === null || existingPlant?.idempotencyKey !== plant.idempotencyKey)
    throw plantExists(plant.id);
  if (FIELD_NAMES.every((name) => existingPlant[name] === plant[name])) return;
  throw idempotencyKeyReused(plant.id, FIELD_NAMES);
}
