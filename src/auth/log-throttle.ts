import { LRUCache } from 'lru-cache';

const KINDS = 100;

/** Lets a message of each kind into the log once in a while: strangers can cause thousands a second. */
export class LogThrottle {
  private readonly told: LRUCache<string, true>;

  /** @param milliseconds from one message of a kind to the next */
  constructor(milliseconds: number) {
    this.told = new LRUCache({ max: KINDS, ttl: milliseconds });
  }

  /** Whether one is due, which then counts as told. */
  isDue(kind: string): boolean {
    if (this.told.has(kind)) return false;
    this.told.set(kind, true);
    return true;
  }
}
