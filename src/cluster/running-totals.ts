import { AggregatorRegistry } from 'prom-client';
import type { MetricValues } from '../management/metrics-snapshot.js';

/** Whoever counts, until its end. */
interface Counting {
  readonly ended: Promise<unknown>;
}

/**
 * What the workers have counted in all, those that have ended included. Were their share to go with them, or that of one which is
 * too busy to tell it, the sum would drop a little, and Prometheus would take all the rest for counted anew.
 */
export class RunningTotals {
  private readonly latest = new Map<Counting, MetricValues>();
  private readonly settled = new WeakSet<Counting>();
  private past: Promise<MetricValues> = Promise.resolve([]);

  /** Whether a metric counts up, and so has totals. */
  static readonly has = ({ type }: MetricValues[number]): boolean => ['counter', 'histogram'].includes(String(type));

  /** Takes over what a worker tells of itself, in the place of what it told before. */
  record(worker: Counting, metrics: MetricValues): void {
    if (this.settled.has(worker)) return;
    if (!this.latest.has(worker)) {
      void worker.ended.then(() => {
        this.settle(worker);
      });
    }
    this.latest.set(worker, metrics.filter(RunningTotals.has));
  }

  async all(): Promise<MetricValues[]> {
    // Both at one moment: a worker that ends meanwhile goes over from the one to the other.
    const { past, latest } = this;
    const present = [...latest.values()];
    return [await past, ...present];
  }

  private settle(worker: Counting): void {
    const last = this.latest.get(worker) ?? [];
    this.settled.add(worker);
    this.latest.delete(worker);
    this.past = this.past.then(async (past) => {
      try {
        return await AggregatorRegistry.aggregate([past, last]).getMetricsAsJSON();
      } catch {
        // What one worker has counted is lost, and not what all of them have.
        return past;
      }
    });
  }
}
