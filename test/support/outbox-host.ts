import { Injectable } from '@nestjs/common';
import { type NewPlant, type Plant, PlantsService } from '../../src/index.js';
import { PrismaService } from './host-drivers.js';

@Injectable()
export class Nursery {
  constructor(
    private readonly plants: PlantsService,
    private readonly prisma: PrismaService,
  ) {}

  sow(plant: NewPlant): Promise<Plant> {
    return this.prisma.$transaction(async (transaction) => {
      const sown = await this.plants.create(plant, { transaction });
      await transaction.$executeRaw`INSERT INTO outbox (plant_id) VALUES (${plant.id})`;
      return sown;
    });
  }

  /** Call it every second, in as many processes as there are. */
  deliver(publish: (plantId: bigint) => Promise<void>): Promise<void> {
    return this.prisma.$transaction(async (transaction) => {
      const events = await transaction.$queryRaw<{ plant_id: bigint }[]>`
        DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)
        RETURNING plant_id`;
      for (const event of events) await publish(event.plant_id);
    });
  }
}
