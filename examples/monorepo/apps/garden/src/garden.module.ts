import { requiredVariable } from '@app/api';
import { Module } from '@nestjs/common';
import { AuthModule, BearerAuthGuard, PlantsModule } from 'plant-store';
import { OrdersModule } from './orders/orders.module.js';

@Module({
  imports: [
    OrdersModule,
    PlantsModule.forRoot({
      database: { url: requiredVariable('DATABASE_URL'), schema: 'plants' },
      guards: [BearerAuthGuard],
      imports: [AuthModule.forRoot({ accessTokens: [requiredVariable('ACCESS_TOKEN')] })],
    }),
  ],
})
export class GardenModule {}
