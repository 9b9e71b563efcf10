import { DatabaseTimeoutError } from '../../database/connection-pool.error.js';
import type { IssuedToken } from './issued-token.js';
import { TokenRequest } from './token-request.js';

/** Requests that wait at most; more are refused. */
export const MOST_WAITING = 10_000;

/** More requests with unknown tokens came than may wait. */
export class TooManyLookupsError extends Error {
  override readonly name = 'TooManyLookupsError';

  constructor() {
    super(`${MOST_WAITING} requests with unknown access tokens wait for the database already`);
  }
}

/** Requests by the key of the token that they came with. */
export type LookupBatch = Map<string, Set<TokenRequest>>;

/** Requests that wait for the database to be asked about their tokens, each as long as the time limit has it. */
export class WaitingLookups {
  private readonly waiting: LookupBatch = new Map();
  private requests = 0;

  constructor(private readonly timeout: number) {}

  /** How many tokens are to be looked up. */
  get size(): number {
    return this.waiting.size;
  }

  add(key: string): Promise<IssuedToken | undefined> {
    if (this.requests >= MOST_WAITING) return Promise.reject(new TooManyLookupsError());
    this.requests += 1;
    const timeUp = (): Error =>
      new DatabaseTimeoutError(`the access token could not be looked up within ${this.timeout} ms`);
    const request = new TokenRequest(this.timeout, timeUp, () => {
      this.requests -= 1;
      this.remove(key, request);
    });
    this.enqueue(key, request);
    return request.verdict;
  }

  /**
   * Takes away those that came first. Whoever comes later with the same token waits for another look-up: what this one sees may be
   * older than their request.
   */
  take(most: number): LookupBatch {
    const batch: LookupBatch = new Map();
    for (const [key, requests] of this.waiting) {
      if (batch.size === most) break;
      batch.set(key, requests);
      this.waiting.delete(key);
    }
    return batch;
  }

  /** Lets them wait again, where their look-up came to nothing. */
  putBack(batch: LookupBatch): void {
    for (const [key, requests] of batch) {
      for (const request of requests) if (!request.isSettled) this.enqueue(key, request);
    }
  }

  /** Those that came meanwhile, with a token that was found. */
  found(key: string, token: IssuedToken): void {
    for (const request of [...(this.waiting.get(key) ?? [])]) request.resolve(token);
  }

  rejectAll(error: Error): void {
    rejectBatch(this.take(Infinity), error);
  }

  private enqueue(key: string, request: TokenRequest): void {
    const others = this.waiting.get(key);
    if (others === undefined) this.waiting.set(key, new Set([request]));
    else others.add(request);
  }

  private remove(key: string, request: TokenRequest): void {
    const requests = this.waiting.get(key);
    requests?.delete(request);
    if (requests?.size === 0) this.waiting.delete(key);
  }
}

export function resolveBatch(batch: LookupBatch, verdictOn: (key: string) => IssuedToken | undefined): void {
  for (const [key, requests] of batch) {
    const token = verdictOn(key);
    for (const request of requests) request.resolve(token);
  }
}

export function rejectBatch(batch: LookupBatch, error: Error): void {
  for (const requests of batch.values()) for (const request of requests) request.reject(error);
}
