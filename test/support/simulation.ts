interface Event {
  at: number;
  readonly run: () => void;
  readonly unref: () => Event;
  isCancelled?: boolean;
}

/** Time for code that uses the global timers. Nothing waits, and each run has the same order. Jest's is too slow. */
export class SimulatedTime {
  now = 0;
  /** In the order of their times. */
  private readonly events: Event[] = [];

  /** Has something happen after so many milliseconds. */
  after(milliseconds: number, run: () => void): Event {
    const event: Event = { at: this.now + milliseconds, run, unref: () => event };
    let index = this.events.length;
    while (index > 0 && (this.events[index - 1]?.at ?? 0) > event.at) index -= 1;
    this.events.splice(index, 0, event);
    return event;
  }

  /** Runs `begin`, and all that follows from it. Returns the number of events; they are at most so many. */
  async run(begin: () => void, maxEvents: number): Promise<number> {
    const cancel = (event?: Event): unknown => event && Object.assign(event, { isCancelled: true });
    const real = { setImmediate, setTimeout, clearTimeout };
    Object.assign(globalThis, {
      setImmediate: (run: () => void) => this.after(0, run),
      setTimeout: (run: () => void, milliseconds: number) => this.after(milliseconds, run),
      clearTimeout: cancel,
    });
    Object.defineProperty(performance, 'now', { value: () => this.now, configurable: true });
    try {
      begin();
      let count = 0;
      for (let event = this.events.shift(); event && count < maxEvents; event = this.events.shift()) {
        if (event.isCancelled) continue;
        count += 1;
        this.now = event.at;
        event.run();
        // Behind all that promises have to do; cheaper than a turn of the event loop.
        await new Promise<void>((done) => {
          process.nextTick(done);
        });
      }
      return count;
    } finally {
      Object.assign(globalThis, real);
      Reflect.deleteProperty(performance, 'now');
    }
  }
}

declare const FIRST_SEED: number;

/** As many seeds, which no other project of Jest has. */
export function seedsOf(count: number): number[] {
  return Array.from({ length: count }, (_, index) => FIRST_SEED + index);
}

/** mulberry32: the same numbers for the same seed, from 0 to 1. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
