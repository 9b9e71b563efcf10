import { Injectable } from '@nestjs/common';
import type { NewPlant } from './dto/new-plant.dto.js';
import type { Plant } from './dto/plant.dto.js';
import { IdempotencyKeyReusedError } from './idempotency-key.error.js';
import { PlantExistsError } from './plant-exists.error.js';
import { PlantsRepository } from './plants.repository.js';

/** Creates plants; for code of the application that does not go through HTTP. */
@Injectable()
export class PlantsService {
  constructor(private readonly repository: PlantsRepository) {}

  /**
   * Creates a plant, or recognises that this very request has created it before.
   *
   * @throws PlantExistsError where the id is taken
   * @throws StorageUnavailableError, StorageOverloadedError where nothing was written, and it may be tried again
   * @throws StorageTimeoutError where the outcome is unknown
   * @throws IdempotencyKeyReusedError where this key created a plant of this id with another name or tag
   */
  async create({ id, name, tag }: NewPlant, idempotencyKey?: string): Promise<Plant> {
    const holder = await this.repository.create({ id, name, tag: tag ?? null, idempotencyKey: idempotencyKey ?? null });
    if (holder) {
      if (idempotencyKey === undefined || holder.idempotencyKey !== idempotencyKey) throw new PlantExistsError(id);
      if (holder.name !== name || holder.tag !== (tag ?? null)) throw new IdempotencyKeyReusedError(id);
    }
    return tag === undefined ? { name } : { name, tag };
  }
}
