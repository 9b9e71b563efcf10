import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricsPage } from '../management/metrics-source.js';
import type { MetricsSnapshot, MetricValues } from '../management/metrics-snapshot.js';
import { observeProcess } from '../management/process-metrics.js';
import { observePool } from './pool-metrics.js';
import { RunningTotals } from './running-totals.js';
import type { WorkerPool } from './worker-pool.js';
import type { WorkerProcess } from './worker-process.js';

/** A scrape has 10 seconds, unless Prometheus is told otherwise. */
const ANSWER_TIMEOUT_MS = 2000;

/** What all processes have to tell, on one page: what the service does as sums, what a process takes for each of them. */
export class WholeMetrics {
  private readonly totals = new RunningTotals();

  private constructor(
    private readonly pool: WorkerPool,
    private readonly poolMetrics: Registry,
    private readonly ownProcess: Registry,
  ) {}

  static async observe(pool: WorkerPool): Promise<WholeMetrics> {
    return new WholeMetrics(pool, observePool(pool), await observeProcess());
  }

  async page(): Promise<MetricsPage> {
    const told = await this.ask();
    const ofTheMoment = told.map(({ service }) => service.filter((metric) => !RunningTotals.has(metric)));
    const registry = AggregatorRegistry.aggregate([
      ...(await this.totals.all()),
      ...ofTheMoment,
      await this.poolMetrics.getMetricsAsJSON(),
      labelled('primary', await this.ownProcess.getMetricsAsJSON()),
      ...told.map(({ place, process }) => labelled(`worker-${place}`, process)),
    ]);
    return { contentType: registry.contentType, content: await registry.metrics() };
  }

  /** Those that do not answer in time are left out. */
  private async ask(): Promise<(MetricsSnapshot & { place: number })[]> {
    const answers = this.pool.serving.map(async (worker: WorkerProcess) => {
      const snapshot = await worker.ask('metrics', ANSWER_TIMEOUT_MS);
      this.totals.record(worker, snapshot.service);
      return { ...snapshot, place: worker.place };
    });
    return (await Promise.allSettled(answers)).flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value] : [],
    );
  }
}

function labelled(process: string, metrics: MetricValues): MetricValues {
  return metrics.map((metric) => ({
    ...metric,
    // Not to be brought together: an average of percentiles, or a sum of start times, would tell nothing.
    aggregator: 'first',
    values: metric.values
      // On its way between processes NaN becomes null.
      .filter(({ value }) => Number.isFinite(value))
      .map((value) => ({ ...value, labels: { ...value.labels, process } })),
  }));
}
