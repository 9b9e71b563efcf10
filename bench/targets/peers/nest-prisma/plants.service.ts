import { Injectable } from '@nestjs/common';
import type { CreatePlantDto } from './create-plant.dto.js';
import { PrismaService } from './prisma.service.js';

@Injectable()
export class PlantsService {
  constructor(private readonly prisma: PrismaService) {}

  async create({ id, name, tag }: CreatePlantDto): Promise<{ name: string; tag?: string }> {
    const plant = await this.prisma.plant.create({ data: { id, name, tag: tag ?? null } });
    return { name: plant.name, ...(plant.tag !== null && { tag: plant.tag }) };
  }
}
