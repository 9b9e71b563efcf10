import { Injectable } from '@nestjs/common';
import { PrismaService } from '../prisma/prisma.service.js';
import { StorePool } from '../prisma/store-pool.js';
import { assertReadyForCreates } from '../prisma/table-checks.js';
import { BatchWriter } from '../writer/batch-writer.js';
import { CitusTable, findCitusShards } from './citus-table.js';
import { PlantsMetrics } from './plants.metrics.js';
import { PlantsOptions } from './plants.options.js';
import { type PlantRecord, PlantsRepository } from './plants.repository.js';

/** The writer of one store, on the table that the start finds: a plain one, or one that Citus distributes. */
@Injectable()
export class PlantsWriter {
  private writer: BatchWriter<PlantRecord> | undefined;

  constructor(
    private readonly repository: PlantsRepository,
    private readonly prisma: PrismaService,
    private readonly pool: StorePool,
    private readonly options: PlantsOptions,
    private readonly metrics: PlantsMetrics,
  ) {}

  /** @throws MigrationError if plants cannot be created, or could be lost */
  async open(): Promise<void> {
    const { repository, pool, options } = this;
    await assertReadyForCreates(pool, options.database);
    const shards = await findCitusShards(pool.execute, pool.schema);
    const findExisting: PlantsRepository['findExisting'] = (plants) => repository.findExisting(plants, '');
    const table = shards.length === 0 ? repository : new CitusTable(this.prisma, pool.schema, shards, findExisting);
    const limits = { connections: pool.size, waiting: options.writeQueueLimit, timeout: pool.timeout };
    this.writer = new BatchWriter(table, limits, this.metrics);
  }

  /** @throws Error if the store has not started */
  get opened(): BatchWriter<PlantRecord> {
    if (this.writer !== undefined) return this.writer;
    const advice = 'Create plants from onApplicationBootstrap on, or after app.init()';
    const reason = 'Nest starts no module that is loaded lazily: import PlantsModule where the application starts';
    throw new Error(`The store has not started. ${advice}. ${reason}`);
  }
}
