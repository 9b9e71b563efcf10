import { DatabaseTimeoutError } from '../../database/database.errors.js';
import { withinTime } from '../../util/timing.js';
import type { RefusedToken } from '../token-verifier.js';
import type { KnownToken } from './token-cache.js';

/** Unknown tokens that one statement looks up. */
const MAX_BATCH = 500;
/** Requests with unknown tokens that wait. */
const MAX_WAITING = 10_000;

/** What the database says of a token; undefined if it does not know it. */
type FoundToken = KnownToken | RefusedToken | undefined;

/** Requests that wait for one token. */
class Lookup {
  declare readonly resolve: (found: FoundToken) => void;
  declare readonly reject: (error: Error) => void;
  readonly result = new Promise<FoundToken>((resolve, reject) => Object.assign(this, { resolve, reject }));
}

/** Requests that wait until their tokens are looked up. */
export class LookupQueue {
  private readonly known = new Map<string, Lookup>();
  private readonly unknown = new Map<string, Lookup>();
  private waiting = 0;

  get isEmpty(): boolean {
    return this.known.size + this.unknown.size === 0;
  }

  /** A token that was valid before is never refused, and goes first. */
  addKnown(key: string, timeout: number): Promise<FoundToken> {
    return resultOf(this.known, key, timeout);
  }

  async addUnknown(key: string, timeout: number): Promise<FoundToken> {
    // A token stays when the requests for it have given up.
    if (Math.max(this.waiting, this.unknown.size) >= MAX_WAITING)
      throw new Error('too many requests with unknown access tokens wait for the database already');
    this.waiting += 1;
    try {
      return await resultOf(this.unknown, key, timeout);
    } finally {
      this.waiting -= 1;
    }
  }

  /** Takes away what the next statement looks up. A request that comes later waits for the one after it, whose result is newer. */
  take(): [string, Lookup][] {
    const batch = [...this.known];
    this.known.clear();
    for (const [key, lookup] of this.unknown) {
      if (batch.length >= MAX_BATCH) break;
      batch.push([key, lookup]);
      this.unknown.delete(key);
    }
    return batch;
  }

  /** Takes away those of these known tokens that requests have come with meanwhile. */
  takeKnown(keys: ReadonlySet<string>): [string, Lookup][] {
    const batch = [...this.known].filter(([key]) => keys.has(key));
    for (const [key] of batch) this.known.delete(key);
    return batch;
  }

  rejectAll(error: Error): void {
    for (const lookups of [this.known, this.unknown]) {
      for (const lookup of lookups.values()) lookup.reject(error);
      lookups.clear();
    }
  }
}

function resultOf(lookups: Map<string, Lookup>, key: string, timeout: number): Promise<FoundToken> {
  const lookup = lookups.get(key) ?? new Lookup();
  lookups.set(key, lookup);
  const timeUp = (): Error => new DatabaseTimeoutError(`the access token could not be looked up within ${timeout} ms`);
  return withinTime(lookup.result, timeout, timeUp);
}
