import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { ConfigurableModuleClass } from './management.options.js';
import { ManagementServer } from './management-server.js';
import { Readiness, ReadinessCheck } from './readiness.js';
import { PlantsHealth } from '../index.js';
import { MetricsSource } from './metrics-source.js';
import { StoreMetrics } from './store-metrics.js';

/** Answers an operator's questions on a listener of its own, never on the public port. Wants a `ReadinessCheck` and a `MetricsSource`. */
@Module({ providers: [ManagementServer, Readiness], exports: [ManagementServer, Readiness] })
export class ManagementModule extends ConfigurableModuleClass {}

/** Ready means that the store's database answers. */
@Injectable()
class DatabaseReadiness extends ReadinessCheck {
  constructor(private readonly health: PlantsHealth) {
    super();
  }

  check(): Promise<void> {
    return this.health.check();
  }
}

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
