import { Injectable } from '@nestjs/common';
import { nodeResponse, type PlatformRequest, type PlatformResponse } from '../http/platform.js';
import { LruMap } from '../util/lru-map.js';
import { RateLimitedError, TooManyWrongTokensError, UnknownTokenRefusedError } from './auth.errors.js';
import { AuthSettings } from './auth.options.js';
import { clientNetwork } from './client-network.js';
import type { Principal, WrongTokenReason } from './token-verifier.js';

const WINDOW_MS = 60_000;
/**
 * A client with more addresses cannot avoid the limit: before one is forgotten, 10,000 others have sent a wrong token, and
 * these alone may send a million in a minute with the limit of 100.
 */
const MAX_ADDRESSES = 10_000;
const MAX_PRINCIPALS = 100_000;

/** The requests of one key in a minute that begins with the first of them. */
interface Window {
  count: number;
  /** In milliseconds of `performance.now()`: the time of day may be set back. */
  end: number;
}

/** Counts by a key. Of too many keys, the least recent is forgotten. */
class WindowCounter {
  private readonly windows: LruMap<string, Window>;

  constructor(maxKeys: number) {
    this.windows = new LruMap(maxKeys);
  }

  /** The window of a key. It is stored when something is counted in it. */
  windowOf(key: string): Window {
    const now = performance.now();
    const window = this.windows.get(key);
    return window !== undefined && now < window.end ? window : { count: 0, end: now + WINDOW_MS };
  }

  add(key: string): Window {
    const window = this.windowOf(key);
    if (window.count === 0) this.windows.set(key, window);
    window.count += 1;
    return window;
  }
}

/** In how many whole seconds a window ends, at least one. */
function secondsUntil({ end }: Window): number {
  // At most the window: what is added to a fraction and taken away again may come out larger.
  return Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((end - performance.now()) / 1000)));
}

/** Counts the requests that are made with each token. */
class RequestCounter {
  private readonly windows = new WindowCounter(MAX_PRINCIPALS);
  /** A host may have the guard on all of its routes, and on the store's once more. */
  private readonly counted = new WeakSet<PlatformResponse>();

  count({ limitKey, name }: Principal, limit: number, response: PlatformResponse): void {
    if (this.counted.has(response)) return;
    this.counted.add(response);
    const window = this.windows.add(limitKey ?? name);
    const seconds = secondsUntil(window);
    // Node's own response: both platforms send the headers that are set there.
    const target = nodeResponse(response);
    // A host may have answered already, as it would not wait any longer.
    if (!target.headersSent) {
      target.setHeader('RateLimit-Limit', String(limit));
      target.setHeader('RateLimit-Remaining', String(Math.max(0, limit - window.count)));
      target.setHeader('RateLimit-Reset', String(seconds));
      target.setHeader('RateLimit-Policy', `${limit};w=${WINDOW_MS / 1000}`);
    }
    if (window.count > limit) throw new RateLimitedError(limit, seconds);
  }
}

/** A token in use, and the seconds until it ends. */
export interface ExpiringToken {
  readonly name: string;
  readonly seconds: number;
}

/** Counts wrong tokens by address, and requests by token. */
@Injectable()
export class CredentialLimits {
  /** Requests that were refused for their token, by the reason. */
  readonly wrongTokensBy: Record<WrongTokenReason, number> = {
    unknown: 0,
    expired: 0,
    revoked: 0,
    malformed: 0,
    limited: 0,
  };
  /** Issued tokens in use that end soon; their verifier sets it. */
  expiringTokens: () => Promise<readonly ExpiringToken[]> = () => Promise.resolve([]);
  /** Requests per minute with a token that has no limit of its own; 0 means no limit. */
  readonly rateLimit: number;
  private readonly wrongTokenLimit: number;
  private readonly wrongTokens: WindowCounter | undefined;
  /** Made for the first token with a limit. */
  private requests: RequestCounter | undefined;

  constructor({ wrongTokenLimit, rateLimit }: AuthSettings) {
    this.rateLimit = rateLimit;
    this.wrongTokenLimit = wrongTokenLimit;
    this.wrongTokens = wrongTokenLimit > 0 ? new WindowCounter(MAX_ADDRESSES) : undefined;
  }

  /**
   * Counts a request once, and sets the headers that say how many are left, with any answer.
   *
   * @throws RateLimitedError if more than `limit` were made with this token
   */
  countRequest(principal: Principal, limit: number, response: PlatformResponse): void {
    this.requests ??= new RequestCounter();
    this.requests.count(principal, limit, response);
  }

  /** @throws TooManyWrongTokensError if its address has sent too many */
  countWrongToken(request: PlatformRequest): void {
    if (this.wrongTokens === undefined) return;
    const limit = this.wrongTokenLimit;
    const window = this.wrongTokens.add(clientNetwork(request));
    if (window.count > limit) throw new TooManyWrongTokensError(limit, secondsUntil(window));
  }

  /**
   * To be called before an unknown token is looked up: one address must not delay the tokens of others.
   *
   * @throws UnknownTokenRefusedError if its address has sent too many wrong tokens
   */
  checkLookup(request: PlatformRequest): void {
    if (this.wrongTokens === undefined) return;
    const limit = this.wrongTokenLimit;
    const window = this.wrongTokens.windowOf(clientNetwork(request));
    if (window.count >= limit) throw new UnknownTokenRefusedError(limit, secondsUntil(window));
  }
}
