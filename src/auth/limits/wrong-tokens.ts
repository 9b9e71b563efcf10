import { LRUCache } from 'lru-cache';
import { TooManyWrongTokensError } from './too-many-wrong-tokens.error.js';
import { WINDOW_MS, wholeSeconds } from './window.js';

/**
 * As many addresses are known at a time; of more, the one is forgotten that was silent longest. That is no way around the limit
 * for who has more of them: before an address is forgotten, 10,000 others have sent a wrong token, and these alone may send a
 * million in a minute with the limit of 100.
 */
const ADDRESSES = 10_000;

interface Clock {
  /** Milliseconds, since whenever. */
  now(): number;
}

interface Attempts {
  count: number;
}

/** Counts wrong tokens by the address that they came from. */
export class WrongTokens {
  private readonly attempts: LRUCache<string, Attempts>;

  constructor(
    private readonly limit: number,
    clock: Clock = performance,
  ) {
    this.attempts = new LRUCache({ max: ADDRESSES, ttl: WINDOW_MS, ttlResolution: 0, perf: clock });
  }

  /** How many addresses are known. */
  get size(): number {
    return this.attempts.size;
  }

  /** @throws TooManyWrongTokensError where the address has sent too many within its minute, with this one */
  count(address: string): void {
    const attempts = this.attempts.get(address);
    if (attempts === undefined) {
      this.attempts.set(address, { count: 1 });
      return;
    }
    attempts.count += 1;
    if (attempts.count <= this.limit) return;
    throw new TooManyWrongTokensError(this.limit, wholeSeconds(this.attempts.getRemainingTTL(address)));
  }
}
