/** In seconds: from a create that finds everything in memory to one that waits for as long as a client does. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts values by their size. To count one is a few comparisons and two additions, and allocates nothing. */
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

  /** How many values there were. */
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
  observeSince(start: number, end = performance.now()): void {
    this.observe((end - start) / 1000);
  }
}
