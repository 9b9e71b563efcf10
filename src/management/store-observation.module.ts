import { type DynamicModule, Module } from '@nestjs/common';

import { DatabaseReadiness } from './database-readiness.js';
import { MetricsSource } from './metrics-source.js';
import { ReadinessCheck } from './readiness-check.js';
import { StoreMetrics } from './store-metrics.js';

/** What the management listener tells of a store in this process. */
@Module({})
export class StoreObservationModule {
  /** @param store the `PlantsModule` that is observed */
  static forRoot(store: DynamicModule): DynamicModule {
    return {
      module: StoreObservationModule,
      imports: [store],
      providers: [
        { provide: ReadinessCheck, useClass: DatabaseReadiness },
        StoreMetrics,
        { provide: MetricsSource, useExisting: StoreMetrics },
      ],
      exports: [ReadinessCheck, MetricsSource, StoreMetrics],
    };
  }
}
