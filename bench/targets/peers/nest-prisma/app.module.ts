import { Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { BearerStrategy } from './bearer.strategy.js';
import { PlantsController } from './plants.controller.js';
import { PlantsService } from './plants.service.js';
import { PrismaService } from './prisma.service.js';

@Module({
  imports: [PassportModule],
  controllers: [PlantsController],
  providers: [PlantsService, PrismaService, BearerStrategy],
})
export class AppModule {}
