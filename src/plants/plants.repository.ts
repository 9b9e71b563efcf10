import { Injectable } from '@nestjs/common';
import { DatabaseTimeoutError } from '../database/connection-pool.error.js';
import { Database } from '../database/database.js';
import { PrismaService } from '../database/prisma.service.js';
import { withinTime } from '../database/within-time.js';
import type { PlantRecord } from './plant-record.js';
import { isUniqueViolation, lookupError, writeError } from './prisma-error.js';

/** Without the id: pg turns numbers into whatever the application has told it to, for the whole process. */
const RECORD = { name: true, tag: true, idempotencyKey: true } as const;

@Injectable()
export class PlantsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly database: Database,
  ) {}

  /**
   * Stores a plant, durably by the time the promise resolves. Where its id is taken, nothing is written and the promise
   * resolves to the plant that holds the id.
   *
   * @throws StorageUnavailableError, StorageOverloadedError: nothing was written
   * @throws StorageTimeoutError: the outcome is unknown
   */
  async create(plant: PlantRecord): Promise<PlantRecord | undefined> {
    const deadline = performance.now() + this.database.timeout;
    try {
      await this.prisma.plant.create({ data: plant, select: { name: true } });
      return undefined;
    } catch (error) {
      if (isUniqueViolation(error)) return this.holderOf(plant.id, deadline);
      throw writeError(error);
    }
  }

  /** Has what the write left of the time. A look-up that is given up here ends by the database's own timeout. */
  private async holderOf(id: bigint, deadline: number): Promise<PlantRecord> {
    const timeUp = (): Error =>
      new DatabaseTimeoutError(`the plant that holds the id was not found within ${this.database.timeout} ms`);
    const lookup = this.prisma.plant.findUniqueOrThrow({ where: { id }, select: RECORD });
    try {
      return { id, ...(await withinTime(lookup, deadline - performance.now(), timeUp)) };
    } catch (error) {
      throw lookupError(error);
    }
  }
}
