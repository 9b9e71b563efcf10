import { median } from './median.js';
import type { Round } from './round.js';

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
