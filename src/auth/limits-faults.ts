import { numberFault } from '../util/options.js';

const MILLIARD = 1_000_000_000;

/** What is wrong with the options that limit credentials, one line each. */
export function limitsFaults({ wrongTokenLimit, rateLimit }: Record<string, unknown>): string[] {
  return [
    ...numberFault('wrongTokenLimit', wrongTokenLimit, MILLIARD, 0),
    ...numberFault('rateLimit', rateLimit, MILLIARD, 0),
  ];
}
