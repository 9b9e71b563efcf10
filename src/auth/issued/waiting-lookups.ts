import { DatabaseTimeoutError } from '../../database/database.errors.js';
import type { IssuedToken } from './issued-token.js';
import { TokenRequest } from './token-request.js';

/** Requests that wait at most, of one network half as many; more are refused. */
export const MOST_WAITING = 10_000;

/** More requests with unknown tokens came, from one network or from all, than may wait. */
export class TooManyLookupsError extends Error {
  override readonly name = 'TooManyLookupsError';

  constructor() {
    super('too many requests with unknown access tokens wait for the database already');
  }
}

/** Requests by the key of the token that they came with. */
export type LookupBatch = Map<string, Set<TokenRequest>>;

/**
 * Requests that wait for the database to be asked about their tokens, each as long as the time limit has it. They are shared out
 * by the networks that they come from: whoever sends thousands of made-up tokens holds up nobody else.
 */
export class WaitingLookups {
  /** Those with something to look up, the next first. */
  private readonly queues = new Map<string, LookupBatch>();
  /** How many requests of each network have no verdict yet. */
  private readonly pending = new Map<string, number>();
  private requests = 0;

  constructor(private readonly timeout: number) {}

  /** How many tokens are to be looked up. */
  get size(): number {
    let size = 0;
    for (const queue of this.queues.values()) size += queue.size;
    return size;
  }

  /** Refuses a network that has as many requests as there are places left: what it can't have, another can. */
  add(key: string, network: string): Promise<IssuedToken | undefined> {
    const others = this.pending.get(network) ?? 0;
    if (others >= MOST_WAITING - this.requests) return Promise.reject(new TooManyLookupsError());
    this.requests += 1;
    this.pending.set(network, others + 1);
    const timeUp = (): Error =>
      new DatabaseTimeoutError(`the access token could not be looked up within ${this.timeout} ms`);
    const request = new TokenRequest(network, this.timeout, timeUp, () => {
      this.remove(key, request);
    });
    this.enqueue(key, request);
    return request.verdict;
  }

  /**
   * Takes away one of each network in turn, of each those that came first. Whoever comes later with the same token waits for another
   * look-up: what this one sees may be older than their request.
   */
  take(most: number): LookupBatch {
    const batch: LookupBatch = new Map();
    // What is set anew stands last, and is come to again.
    for (const [network, queue] of this.queues) {
      if (batch.size >= most) break;
      this.queues.delete(network);
      for (const [key, requests] of queue) {
        queue.delete(key);
        batch.set(key, new Set([...(batch.get(key) ?? []), ...requests]));
        break;
      }
      if (queue.size > 0) this.queues.set(network, queue);
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
    for (const queue of [...this.queues.values()]) {
      for (const request of [...(queue.get(key) ?? [])]) request.resolve(token);
    }
  }

  rejectAll(error: Error): void {
    rejectBatch(this.take(Infinity), error);
  }

  private enqueue(key: string, request: TokenRequest): void {
    const queue = this.queues.get(request.network) ?? new Map<string, Set<TokenRequest>>();
    this.queues.set(request.network, queue);
    const others = queue.get(key);
    if (others === undefined) queue.set(key, new Set([request]));
    else others.add(request);
  }

  private remove(key: string, request: TokenRequest): void {
    const { network } = request;
    this.requests -= 1;
    const others = (this.pending.get(network) ?? 0) - 1;
    if (others > 0) this.pending.set(network, others);
    else this.pending.delete(network);

    const queue = this.queues.get(network);
    const requests = queue?.get(key);
    requests?.delete(request);
    if (requests?.size === 0) queue?.delete(key);
    if (queue?.size === 0) this.queues.delete(network);
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
