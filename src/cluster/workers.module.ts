import { type DynamicModule, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { AppOptions } from '../app/app.module.js';
import { MetricsSource } from '../management/metrics-source.js';
import { ReadinessCheck } from '../management/readiness.js';
import { WorkerPool } from './worker-pool.js';
import { WorkersMetrics } from './workers-metrics.js';
import { WorkersReadiness } from './workers-readiness.js';

/** The worker processes, and what the management listener tells of them. */
@Module({})
export class WorkersModule {
  static forRoot(options: AppOptions): DynamicModule {
    return {
      module: WorkersModule,
      providers: [
        {
          provide: WorkerPool,
          useFactory: (publicListener: HttpAdapterHost) => new WorkerPool(options, publicListener),
          inject: [HttpAdapterHost],
        },
        { provide: ReadinessCheck, useClass: WorkersReadiness },
        { provide: MetricsSource, useClass: WorkersMetrics },
      ],
      exports: [ReadinessCheck, MetricsSource],
    };
  }
}
