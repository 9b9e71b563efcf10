import { Injectable } from '@nestjs/common';
import { PrismaService } from '../database/prisma.service.js';
import type { PlantRecord } from './plant-record.js';
import { isUniqueViolation, lookupError, writeError } from './prisma-error.js';

const RECORD = { id: true, name: true, tag: true, idempotencyKey: true } as const;

@Injectable()
export class PlantsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Stores a plant, durably by the time the promise resolves. Where its id is taken, nothing is written and the promise
   * resolves to the plant that holds the id.
   *
   * @throws StorageUnavailableError, StorageOverloadedError: nothing was written
   * @throws StorageTimeoutError: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<PlantRecord | undefined> {
    try {
      await this.prisma.plant.create({ data: plant, select: { id: true } });
      return undefined;
    } catch (error) {
      if (isUniqueViolation(error)) return this.holderOf(plant.id);
      throw writeError(error);
    }
  }

  private async holderOf(id: bigint): Promise<PlantRecord> {
    try {
      return await this.prisma.plant.findUniqueOrThrow({ where: { id }, select: RECORD });
    } catch (error) {
      throw lookupError(error);
    }
  }
}
