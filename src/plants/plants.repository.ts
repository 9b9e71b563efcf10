import { Injectable } from '@nestjs/common';
import { BatchWriter } from './batch-writer.js';
import type { CreateResult, PlantRecord } from './plant-sql.js';
import { storageError } from './storage-failure.js';

@Injectable()
export class PlantsRepository {
  constructor(private readonly writer: BatchWriter) {}

  /**
   * Stores a plant, durably by the time the promise resolves, or, where its id is taken, writes nothing.
   *
   * @throws StorageUnavailableError, StorageOverloadedError: nothing was written
   * @throws StorageTimeoutError: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<CreateResult> {
    try {
      return await this.writer.create(plant);
    } catch (error) {
      throw storageError(error);
    }
  }
}
