import { Injectable, Module } from '@nestjs/common';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
import { AppController } from './app.controller.js';
import { AppService } from './app.service.js';
import { OrdersController } from './orders.controller.js';

const { DATABASE_URL = '', ACCESS_TOKEN = '', STORE = 'yes' } = process.env;

@Injectable()
class Settings {
  readonly database = { url: DATABASE_URL };
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

function store() {
  const auth = PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN], issuedTokens: { url: DATABASE_URL } });
  return PlantsModule.forRootAsync({
    imports: [SettingsModule, auth],
    inject: [Settings],
    useFactory: ({ database }: Settings) => ({ database }),
    guards: [BearerAuthGuard],
  });
}

/** As `nest new` makes it, with routes of its own, and with a store unless `STORE=no`. */
@Module({
  imports: STORE === 'no' ? [] : [store()],
  controllers: [AppController, OrdersController],
  providers: [AppService],
})
export class AppModule {}
