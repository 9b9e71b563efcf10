import { beforeEach, describe, expect, it } from '@jest/globals';
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricValues } from '../management/metrics-snapshot.js';
import { RunningTotals } from './running-totals.js';

/** A worker with metrics of each kind. */
class Worker {
  end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });
  readonly registry = new Registry();
  readonly created = new Counter({ name: 'created_total', help: '-', registers: [this.registry] });
  readonly waiting = new Gauge({ name: 'waiting', help: '-', registers: [this.registry] });
  readonly duration = new Histogram({ name: 'seconds', help: '-', buckets: [1], registers: [this.registry] });

  constructor(readonly value: number) {
    this.created.inc(value);
    this.waiting.set(value);
    this.duration.observe(value);
  }

  tell(): Promise<MetricValues> {
    return this.registry.getMetricsAsJSON();
  }
}

describe(RunningTotals.name, () => {
  let totals: RunningTotals;

  beforeEach(() => {
    totals = new RunningTotals();
  });

  async function record(...workers: Worker[]): Promise<void> {
    for (const worker of workers) totals.record(worker, await worker.tell());
  }

  async function page(): Promise<string[]> {
    const text = await AggregatorRegistry.aggregate(await totals.all()).metrics();
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  }

  const samples = (created: number, fast: number, count: number): string[] => [
    `created_total ${created}`,
    `seconds_bucket{le="1"} ${fast}`,
    `seconds_bucket{le="+Inf"} ${count}`,
    `seconds_sum ${created}`,
    `seconds_count ${count}`,
  ];

  it('should sum up what counts up, and leave out what is of the moment', async () => {
    await record(new Worker(1), new Worker(5));
    expect(await page()).toEqual(samples(6, 1, 2));
  });

  it('should take what a worker tells later in the place of what it told before', async () => {
    const worker = new Worker(1);
    await record(worker, new Worker(5));
    worker.created.inc(3);
    worker.duration.observe(3);
    await record(worker);
    expect(await page()).toEqual(samples(9, 1, 3));
  });

  it('should keep the share of those that have ended, at every moment', async () => {
    const [first, second] = [new Worker(1), new Worker(5)];
    await record(first, second);
    first.end();
    expect(await page()).toEqual(samples(6, 1, 2));
    second.end();
    await second.ended;
    expect(await page()).toEqual(samples(6, 1, 2));
    await record(new Worker(10));
    expect(await page()).toEqual(samples(16, 1, 3));
  });

  it('should not count twice one whose last words come late', async () => {
    const worker = new Worker(1);
    await record(worker);
    worker.end();
    await worker.ended;
    await record(worker);
    expect(await page()).toEqual(samples(1, 1, 1));
  });
});
