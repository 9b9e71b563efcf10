import { requiredVariable } from '@app/api';
import { Module } from '@nestjs/common';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
import { OrdersModule } from './orders/orders.module.js';

@Module({
  imports: [
    OrdersModule,
    PlantsModule.forRoot({
      database: { url: requiredVariable('DATABASE_URL'), schema: 'plants' },
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [requiredVariable('ACCESS_TOKEN')] })],
    }),
  ],
})
export class GardenModule {}
