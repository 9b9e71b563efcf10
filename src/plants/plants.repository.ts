import { Injectable } from '@nestjs/common';
import { DatabaseTimeoutError } from '../database/connection-pool.error.js';
import { ConnectionPool } from '../database/connection-pool.js';
import { PrismaService } from '../database/prisma.service.js';
import type { PlantRecord } from './plant-record.js';
import { isUniqueViolation, lookupError, writeError } from './prisma-error.js';

const RECORD = { id: true, name: true, tag: true, idempotencyKey: true } as const;

@Injectable()
export class PlantsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly pool: ConnectionPool,
  ) {}

  /**
   * Stores a plant, durably by the time the promise resolves. Where its id is taken, nothing is written and the promise
   * resolves to the plant that holds the id.
   *
   * @throws StorageUnavailableError, StorageOverloadedError: nothing was written
   * @throws StorageTimeoutError: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<PlantRecord | undefined> {
    const deadline = performance.now() + this.pool.timeout;
    try {
      await this.prisma.plant.create({ data: plant, select: { id: true } });
      return undefined;
    } catch (error) {
      if (isUniqueViolation(error)) return this.holderOf(plant.id, deadline);
      throw writeError(error);
    }
  }

  /** Has what the write left of the time. A look-up that is given up here ends by the pool's own timeout. */
  private async holderOf(id: bigint, deadline: number): Promise<PlantRecord> {
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<never>((_, reject) => {
      const giveUp = (): void => {
        reject(new DatabaseTimeoutError(`the plant that holds the id was not found within ${this.pool.timeout} ms`));
      };
      timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()));
    });
    try {
      return await Promise.race([this.prisma.plant.findUniqueOrThrow({ where: { id }, select: RECORD }), timeUp]);
    } catch (error) {
      throw lookupError(error);
    } finally {
      clearTimeout(timer);
    }
  }
}
