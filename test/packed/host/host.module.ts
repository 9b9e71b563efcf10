import { Module } from '@nestjs/common';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';

const { DATABASE_URL = '', ACCESS_TOKEN = '' } = process.env;
const database = { url: DATABASE_URL };

@Module({
  imports: [
    PlantsModule.forRootAsync({
      useFactory: () => ({ database }),
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN], issuedTokens: database })],
    }),
  ],
})
export class HostModule {}
