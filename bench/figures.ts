/** What one target did in one round. Times are in milliseconds; what this machine does not tell is undefined. */
export interface Round {
  readonly createsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Microseconds for a create. */
  readonly serverCpu?: number | undefined;
  readonly databaseCpu?: number | undefined;
  readonly plantsPerCommit?: number | undefined;
  /** Bytes that the server's processes have had at most, from their start on. */
  readonly peakMemory?: number | undefined;
}

/** All rounds of one target at one number of connections. */
export interface Measurement {
  readonly target: string;
  readonly title: string;
  /** The version of Node.js, if it runs on that. */
  readonly node?: string | undefined;
  readonly connections: number;
  readonly rounds: Round[];
  /** Why there are no rounds, or no more. */
  readonly faults: string[];
}

/** One figure of it, the median over its rounds; of the peak of memory, the highest. */
export function figureOf({ rounds }: Measurement, figure: keyof Round): number | undefined {
  const values = rounds.map((round) => round[figure]);
  return figure === 'peakMemory' ? values.at(-1) : median(values);
}

/** Undefined if there is no value, or one is missing. */
export function median(values: readonly (number | undefined)[]): number | undefined {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  if (sorted.length === 0 || sorted.length < values.length) return undefined;
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** How many times as much one is as the other, and between which two values that lies with 95 %. */
export interface Ratio {
  readonly median: number;
  /** Undefined for less than eight rounds. */
  readonly low: number | undefined;
  readonly high: number | undefined;
}

/**
 * The median of the ratios of each round, in which both met the same noise. Its interval is between two of the sorted ratios, 1.96
 * standard deviations of a series of fair coins from the middle: that asks nothing of how the ratios are spread.
 */
export function ratioOf(
  own: readonly (number | undefined)[],
  base: readonly (number | undefined)[],
): Ratio | undefined {
  const rounds = Math.min(own.length, base.length);
  const ratios = Array.from({ length: rounds }, (_, round) => (own[round] ?? NaN) / (base[round] ?? NaN));
  const middle = median(ratios);
  if (middle === undefined || ratios.some(Number.isNaN)) return undefined;
  ratios.sort((a, b) => a - b);
  const rank = Math.floor((rounds - 1.96 * Math.sqrt(rounds)) / 2);
  return { median: middle, low: ratios[rank - 1], high: ratios[rounds - rank] };
}
