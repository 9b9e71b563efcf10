import { AuthModule } from '@app/auth';
import { PrismaModule, PrismaService } from '@app/prisma';
import { Module } from '@nestjs/common';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

const { ACCESS_TOKEN } = process.env;
if (!ACCESS_TOKEN) throw new Error('Set ACCESS_TOKEN.');

@Module({
  imports: [
    AuthModule,
    PrismaModule,
    PlantsModule.forRootAsync({
      inject: [PrismaService],
      // Orders and plants share the connections.
      useFactory: ({ pool }: PrismaService) => ({ database: { pool, schema: 'plants' } }),
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] })],
    }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class GardenModule {}
