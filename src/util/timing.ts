import { LRUCache } from 'lru-cache';

const MAX_KINDS = 100;

/** A timer of Node.js cannot wait longer: it would run at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Settles as the work does. If that takes longer, it rejects with an error made then; the work goes on, and its result is lost. */
export async function withinTime<T>(work: Promise<T>, milliseconds: number, timeUp: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => {
      reject(timeUp());
    };
    timer = setTimeout(fail, Math.max(0, milliseconds));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

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
