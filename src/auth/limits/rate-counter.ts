/** How many requests there were under a key in its window, and for how many milliseconds that lasts. */
export interface RequestCount {
  requests: number;
  msLeft: number;
}

/** Counts requests by what they have in common. */
export abstract class RateCounter {
  /** Counts one more. Resolves to nothing where it can't be told in time; never rejects. */
  abstract count(key: string): Promise<RequestCount | undefined>;
}
