import { Module } from '@nestjs/common';
import { AuthModule, BearerAuthGuard, PlantsModule } from 'plant-store';

const { DATABASE_URL = '', ACCESS_TOKEN = '' } = process.env;

@Module({
  imports: [
    PlantsModule.forRoot({
      database: { url: DATABASE_URL },
      guards: [BearerAuthGuard],
      imports: [AuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] })],
    }),
  ],
})
export class HostModule {}
