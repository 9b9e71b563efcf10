import { nodeResponse, type PlatformResponse } from '../../http/platform.js';
import type { Principal } from '../principal.js';
import type { RateCounter } from './rate-counter.js';
import { RateLimitedError } from './rate-limited.error.js';
import { WINDOW_MS, wholeSeconds } from './window.js';

/** How many requests may be made with one token in a minute. */
export class RateLimit {
  /** A host may have the guard on all of its routes, and on the store's once more. */
  private readonly counted = new WeakSet<PlatformResponse>();
  private readonly policy: string;

  constructor(
    private readonly limit: number,
    private readonly counter: RateCounter,
  ) {
    this.policy = `${limit};w=${WINDOW_MS / 1000}`;
  }

  /** Counts a request, and has its answer tell the client how many are left, whatever the answer will be. */
  async count({ limitKey, name }: Principal, response: PlatformResponse): Promise<void> {
    if (this.counted.has(response)) return;
    this.counted.add(response);
    const count = await this.counter.count(limitKey ?? name);
    // A limit must not become an outage.
    if (count === undefined) return;
    const seconds = wholeSeconds(count.msLeft);
    this.tell(response, this.limit - count.requests, seconds);
    if (count.requests > this.limit) throw new RateLimitedError(this.limit, seconds);
  }

  private tell(response: PlatformResponse, remaining: number, seconds: number): void {
    // On Node's own response, whose headers stand in what both platforms send.
    const target = nodeResponse(response);
    // A host may have answered already, as it would not wait any longer.
    if (target.headersSent) return;
    target.setHeader('RateLimit-Limit', String(this.limit));
    target.setHeader('RateLimit-Remaining', String(Math.max(0, remaining)));
    target.setHeader('RateLimit-Reset', String(seconds));
    target.setHeader('RateLimit-Policy', this.policy);
  }
}
