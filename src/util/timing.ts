import { LRUCache } from 'lru-cache';

const MAX_KINDS = 100;

/** Lets one message of each kind into the log per interval: strangers can cause thousands a second. */
export class LogThrottle {
  private readonly logged: LRUCache<string, true>;

  constructor(intervalMs: number) {
    this.logged = new LRUCache({ max: MAX_KINDS, ttl: intervalMs });
  }

  /** Whether one is due, which then counts as logged. */
  isDue(kind: string): boolean {
    if (this.logged.has(kind)) return false;
    this.logged.set(kind, true);
    return true;
  }
}
