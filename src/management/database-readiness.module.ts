import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseReadiness } from './database-readiness.js';
import { ReadinessCheck } from './readiness-check.js';

@Module({})
export class DatabaseReadinessModule {
  /** @param database the module that exports the `ConnectionPool` to check */
  static forRoot(database: DynamicModule): DynamicModule {
    return {
      module: DatabaseReadinessModule,
      imports: [database],
      providers: [{ provide: ReadinessCheck, useClass: DatabaseReadiness }],
      exports: [ReadinessCheck],
    };
  }
}
