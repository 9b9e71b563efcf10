import { Injectable } from '@nestjs/common';

/** The last bound is the most plants that a statement may have. */
const STATEMENT_PLANTS_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** In seconds. The last bound is the default of REQUEST_TIMEOUT. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts values in buckets. It allocates nothing for a value. */
export class Histogram {
  /** The count of each bucket. The last bucket is above the last bound. */
  readonly counts: number[];
  sum = 0;

  /** @param bounds in ascending order */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  static ofSeconds(): Histogram {
    return new Histogram(DURATION_BOUNDS);
  }

  get count(): number {
    return this.counts.reduce((total, count) => total + count, 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    this.sum += value;
  }

  /** Observes the seconds since a moment of `performance.now()`. */
  observeSince(start: number): void {
    this.observe((performance.now() - start) / 1000);
  }
}

/** The counters of one store. */
@Injectable()
export class PlantsMetrics {
  created = 0;
  /** Counts the creates that wait for a statement. The writer sets it. */
  countWaiting = (): number => 0;
  /** The creates whose statement is in flight. */
  inFlight = 0;
  /** The plants in each statement. */
  readonly statementPlants = new Histogram(STATEMENT_PLANTS_BOUNDS);
  /** The seconds that each statement took, with the wait for a connection. */
  readonly statementSeconds = Histogram.ofSeconds();
}
