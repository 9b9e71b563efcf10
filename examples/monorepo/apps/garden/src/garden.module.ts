import { AuthModule } from '@app/auth';
import { Module } from '@nestjs/common';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

const { DATABASE_URL, ACCESS_TOKEN } = process.env;
if (!DATABASE_URL || !ACCESS_TOKEN) throw new Error('Set DATABASE_URL and ACCESS_TOKEN.');

@Module({
  imports: [
    AuthModule,
    PlantsModule.forRoot({
      database: { url: DATABASE_URL, schema: 'plants' },
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] })],
    }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class GardenModule {}
