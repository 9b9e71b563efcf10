import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseReadiness } from './database-readiness.js';
import { ReadinessCheck } from './readiness-check.js';

@Module({})
export class DatabaseReadinessModule {
  /** @param store the `PlantsModule` whose database is to be checked */
  static forRoot(store: DynamicModule): DynamicModule {
    return {
      module: DatabaseReadinessModule,
      imports: [store],
      providers: [{ provide: ReadinessCheck, useClass: DatabaseReadiness }],
      exports: [ReadinessCheck],
    };
  }
}
