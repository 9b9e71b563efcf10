import type { RateLimiterMemory } from 'rate-limiter-flexible';
import { RateCounter, type RequestCount } from './rate-counter.js';
import { WINDOW_MS } from './window.js';

/** Counts in the memory of this process. Each key is forgotten when its window ends, so there are as many as were used in a minute. */
export class MemoryRateCounter extends RateCounter {
  private constructor(private readonly limiter: RateLimiterMemory) {
    super();
  }

  /** Loads what counts: it takes its time, and most applications set no limit. */
  static async create(): Promise<MemoryRateCounter> {
    const { RateLimiterMemory } = await import('rate-limiter-flexible');
    // How many requests are too many is decided by who asks, so here no number of them is.
    const points = Number.MAX_SAFE_INTEGER;
    return new MemoryRateCounter(new RateLimiterMemory({ points, duration: WINDOW_MS / 1000, keyPrefix: '' }));
  }

  async count(key: string): Promise<RequestCount> {
    const { consumedPoints, msBeforeNext } = await this.limiter.consume(key);
    // It goes by the time of day, which may be set back; the window ends in time all the same.
    return { requests: consumedPoints, msLeft: Math.min(msBeforeNext, WINDOW_MS) };
  }
}
