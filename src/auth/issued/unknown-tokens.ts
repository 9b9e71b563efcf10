import { LRUCache } from 'lru-cache';

/** Those that are remembered at most. */
const MOST_UNKNOWN = 10_000;
/** Milliseconds that the database need not be asked again about one: what made it right may have gone unheard. */
const REMEMBERED_MS = 1000;

/** Tokens that the database did not know a moment ago. */
export class UnknownTokens {
  private readonly until = new LRUCache<string, number>({ max: MOST_UNKNOWN });

  has(key: string): boolean {
    return performance.now() < (this.until.get(key) ?? 0);
  }

  add(key: string): void {
    this.until.set(key, performance.now() + REMEMBERED_MS);
  }

  clear(): void {
    this.until.clear();
  }
}
