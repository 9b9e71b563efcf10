import { LRUCache } from 'lru-cache';
import { nodeResponse, type PlatformRequest, type PlatformResponse } from '../http/platform.js';
import { RateLimitedError, TooManyWrongTokensError, UnknownTokenRefusedError } from './auth.errors.js';
import { type CredentialLimitsOptions, DEFAULT_WRONG_TOKEN_LIMIT } from './auth.options.js';
import { clientNetwork } from './client-network.js';
import type { Principal, WrongTokenReason } from './token-verifier.js';

const WINDOW_MS = 60_000;
/**
 * No way around the limit for a client that has more addresses: before one is forgotten, 10,000 others have sent a wrong token, and
 * these alone may send a million in a minute with the limit of 100.
 */
const MAX_ADDRESSES = 10_000;
const MAX_PRINCIPALS = 100_000;

/** Not the time of day, which may be set back. */
type Clock = Pick<typeof performance, 'now'>;

interface Window {
  count: number;
  end: number;
}

/** Counts by a key, within windows of a minute that begin with the first to count. Of too many keys, the least recent is forgotten. */
class WindowCounter {
  private readonly windows: LRUCache<string, Window>;

  constructor(
    maxKeys: number,
    private readonly clock: Clock = performance,
  ) {
    this.windows = new LRUCache({ max: maxKeys });
  }

  /** How many there are now. */
  count(key: string): { count: number; seconds: number } {
    const now = this.clock.now();
    const { count, end } = this.windows.get(key) ?? { count: 0, end: now };
    return now < end ? { count, seconds: secondsUntil(end, now) } : { count: 0, seconds: 1 };
  }

  /** Counts one more: how many there are now, and in how many whole seconds the window ends, at least one. */
  add(key: string): { count: number; seconds: number } {
    const now = this.clock.now();
    let window = this.windows.get(key);
    if (window === undefined || now >= window.end) {
      window = { count: 0, end: now + WINDOW_MS };
      this.windows.set(key, window);
    }
    window.count += 1;
    return { count: window.count, seconds: secondsUntil(window.end, now) };
  }
}

function secondsUntil(end: number, now: number): number {
  // At most the window: what is added to a fraction and taken away again may come out larger.
  return Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((end - now) / 1000)));
}

/** Counts wrong tokens by address, and requests by token. */
export class CredentialLimits {
  /** Requests that were refused for their token, by the reason. */
  readonly wrongTokensBy: Record<WrongTokenReason, number> = {
    unknown: 0,
    expired: 0,
    revoked: 0,
    malformed: 0,
    limited: 0,
  };
  private readonly wrongTokenLimit: number;
  private readonly rateLimit: number;
  private readonly wrongTokens: WindowCounter | undefined;
  private readonly requests: WindowCounter | undefined;
  /** A host may have the guard on all of its routes, and on the store's once more. */
  private readonly counted = new WeakSet<PlatformResponse>();
  private readonly policy: string;

  constructor({ wrongTokenLimit, rateLimit }: CredentialLimitsOptions, clock?: Clock) {
    this.wrongTokenLimit = wrongTokenLimit ?? DEFAULT_WRONG_TOKEN_LIMIT;
    this.rateLimit = rateLimit ?? 0;
    // Only with a limit: a counter reserves its memory.
    this.wrongTokens = this.wrongTokenLimit > 0 ? new WindowCounter(MAX_ADDRESSES, clock) : undefined;
    this.requests = this.rateLimit > 0 ? new WindowCounter(MAX_PRINCIPALS, clock) : undefined;
    this.policy = `${this.rateLimit};w=${WINDOW_MS / 1000}`;
  }

  /** @throws TooManyWrongTokensError where its address has sent too many */
  countWrongToken(request: PlatformRequest): void {
    if (this.wrongTokens === undefined) return;
    const { count, seconds } = this.wrongTokens.add(clientNetwork(request));
    if (count > this.wrongTokenLimit) throw new TooManyWrongTokensError(this.wrongTokenLimit, seconds);
  }

  /**
   * To be called before an unknown token is looked up: one address shall not hold up the tokens of others.
   *
   * @throws UnknownTokenRefusedError where its address has sent too many wrong tokens
   */
  checkLookup(request: PlatformRequest): void {
    if (this.wrongTokens === undefined) return;
    const { count, seconds } = this.wrongTokens.count(clientNetwork(request));
    if (count >= this.wrongTokenLimit) throw new UnknownTokenRefusedError(this.wrongTokenLimit, seconds);
  }

  /**
   * Counts a request once, and sets the headers that say how many are left, whatever the answer will be.
   *
   * @throws RateLimitedError where too many were made with this token
   */
  countRequest({ limitKey, name }: Principal, response: PlatformResponse): void {
    if (this.requests === undefined || this.counted.has(response)) return;
    this.counted.add(response);
    const { count, seconds } = this.requests.add(limitKey ?? name);
    this.setHeaders(response, Math.max(0, this.rateLimit - count), seconds);
    if (count > this.rateLimit) throw new RateLimitedError(this.rateLimit, seconds);
  }

  private setHeaders(response: PlatformResponse, remaining: number, seconds: number): void {
    // Node's own response: both platforms send the headers that are set there.
    const target = nodeResponse(response);
    // A host may have answered already, as it would not wait any longer.
    if (target.headersSent) return;
    target.setHeader('RateLimit-Limit', String(this.rateLimit));
    target.setHeader('RateLimit-Remaining', String(remaining));
    target.setHeader('RateLimit-Reset', String(seconds));
    target.setHeader('RateLimit-Policy', this.policy);
  }
}
