import { Injectable } from '@nestjs/common';
import { BatchWriter } from './batch-writer.js';
import { FIELD_NAMES } from './new-plant.js';
import type { PlantRecord } from './plant-sql.js';
import { IdempotencyKeyReusedError, PlantExistsError } from './plants.errors.js';
import { storageError } from './storage-failure.js';
import type { CreateResult } from './write-queue.js';

@Injectable()
export class PlantsRepository {
  constructor(private readonly writer: BatchWriter) {}

  /**
   * Stores a plant, durably by the time the promise resolves. Resolves with false where an earlier request with the same
   * idempotency key has stored this very plant, and nothing was written.
   *
   * @throws PlantExistsError, IdempotencyKeyReusedError: the id is taken, and nothing was written
   * @throws StorageUnavailableError, StorageOverloadedError: nothing was written
   * @throws StorageTimeoutError: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<boolean> {
    const { stored, existingPlant } = await this.write(plant);
    if (stored) return true;
    if (plant.idempotencyKey === null || existingPlant?.idempotencyKey !== plant.idempotencyKey)
      throw new PlantExistsError(plant.id);
    if (FIELD_NAMES.every((name) => existingPlant[name] === plant[name])) return false;
    throw new IdempotencyKeyReusedError(plant.id, FIELD_NAMES);
  }

  private async write(plant: PlantRecord): Promise<CreateResult> {
    try {
      return await this.writer.create(plant);
    } catch (error) {
      throw storageError(error);
    }
  }
}
