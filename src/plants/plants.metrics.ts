import { Injectable } from '@nestjs/common';

/** Up to as many as one statement may have. */
const STATEMENT_PLANTS_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** In seconds: up to as long as a client waits. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts values by their size, and allocates nothing for one. */
export class Histogram {
  /** Values up to each bound and above the one before it; at the end, those above the last bound. */
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

  /** Counts the time since a moment of `performance.now()`. */
  observeSince(start: number): void {
    this.observe((performance.now() - start) / 1000);
  }
}

/** What a store has done since it started, and what it does now. */
@Injectable()
export class PlantsMetrics {
  /** Plants that were created. */
  created = 0;
  /** Creates with a statement in flight now. */
  inFlight = 0;
  /** Plants in each of the statements that create them. */
  readonly statementPlants = new Histogram(STATEMENT_PLANTS_BOUNDS);
  /** Seconds that each statement took, including the wait for a connection. */
  readonly statementSeconds = Histogram.ofSeconds();
}
