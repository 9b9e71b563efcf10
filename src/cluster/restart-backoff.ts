export interface RestartBackoffOptions {
  /** Milliseconds before the first restart. */
  first: number;
  /** Milliseconds that a pause has at most. */
  longest: number;
  /** Milliseconds after which a worker that ran so long counts as sound. */
  sound: number;
}

/** How long to wait before a worker is started anew: twice as long each time, until one has run well for a while. */
export class RestartBackoff {
  private next: number;

  constructor(private readonly options: RestartBackoffOptions = { first: 100, longest: 30_000, sound: 60_000 }) {
    this.next = options.first;
  }

  /** @param served milliseconds for which the worker that has ended now had served */
  pause(served: number): number {
    const { first, longest, sound } = this.options;
    const pause = served >= sound ? first : this.next;
    this.next = Math.min(2 * pause, longest);
    return pause;
  }
}
