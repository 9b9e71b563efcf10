import { Injectable } from '@nestjs/common';
import { type NewPlant, type Plant, PlantsService } from '../../../src/index.js';
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
  async deliver(publish: (plantId: bigint) => Promise<void>): Promise<void> {
    while (await this.deliverNext(publish));
  }

  /** A transaction for each, so that a slow broker, or one that refuses the next, does not get it again. */
  private deliverNext(publish: (plantId: bigint) => Promise<void>): Promise<boolean> {
    return this.prisma.$transaction(async (transaction) => {
      const [event] = await transaction.$queryRaw<{ plant_id: bigint }[]>`
        DELETE FROM outbox WHERE id = (SELECT id FROM outbox ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING plant_id`;
      if (event) await publish(event.plant_id);
      return event !== undefined;
    });
  }
}
