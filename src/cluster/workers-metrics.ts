import { Injectable } from '@nestjs/common';
import { type MetricsPage, MetricsSource } from '../management/metrics-source.js';
import type { WholeMetrics } from './whole-metrics.js';
import { WorkerPool } from './worker-pool.js';

/** The metrics of all processes. As in a process of its own, nothing is loaded or observed before somebody asks. */
@Injectable()
export class WorkersMetrics extends MetricsSource {
  private whole: Promise<WholeMetrics> | undefined;

  constructor(private readonly pool: WorkerPool) {
    super();
  }

  async page(): Promise<MetricsPage> {
    this.whole ??= import('./whole-metrics.js').then(({ WholeMetrics }) => WholeMetrics.observe(this.pool));
    return (await this.whole).page();
  }
}
