import { median } from './median.js';

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
