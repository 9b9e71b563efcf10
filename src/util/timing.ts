import { LRUCache } from 'lru-cache';

/** Settles as the work does, or, where that takes longer, rejects with an error made then. The work goes on, unheard. */
export async function withinTime<T>(work: Promise<T>, milliseconds: number, timeUp: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => {
        reject(timeUp());
      },
      Math.max(0, milliseconds),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

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
