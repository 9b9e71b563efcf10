import { setImmediate as setRealImmediate } from 'node:timers';

interface Event {
  at: number;
  readonly run: () => void;
  unref(): Event;
  isCancelled?: boolean;
}

/** Time for code that uses the global timers by name: nothing waits, and events come in the same order in each run. Jest's own is too slow. */
export class SimulatedTime {
  now = 0;
  /** In the order of their times. */
  private readonly events: Event[] = [];

  /** Has something happen after so many milliseconds. */
  readonly after = (milliseconds: number, run: () => void): Event => {
    const at = this.now + milliseconds;
    return this.add({
      at,
      run,
      unref() {
        return this;
      },
    });
  };

  private readonly every = (milliseconds: number, run: () => void): Event => {
    const event = this.after(milliseconds, () => {
      run();
      this.add(Object.assign(event, { at: this.now + milliseconds }));
    });
    return event;
  };

  private add(event: Event): Event {
    let index = this.events.length;
    while (index > 0 && (this.events[index - 1]?.at ?? 0) > event.at) index -= 1;
    this.events.splice(index, 0, event);
    return event;
  }

  /** Runs `begin`, and all that follows from it. Returns the number of events; they are at most so many. */
  async run(begin: () => void, maxEvents: number): Promise<number> {
    const cancel = (event?: Event): void => {
      if (event) event.isCancelled = true;
    };
    const real = { setImmediate, setTimeout, setInterval, clearTimeout, clearInterval };
    Object.assign(globalThis, {
      setImmediate: (run: () => void) => this.after(0, run),
      setTimeout: (run: () => void, milliseconds: number) => this.after(milliseconds, run),
      setInterval: (run: () => void, milliseconds: number) => this.every(milliseconds, run),
      clearTimeout: cancel,
      clearInterval: cancel,
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
        await new Promise<void>((done) => void setRealImmediate(done));
      }
      return count;
    } finally {
      Object.assign(globalThis, real);
      Reflect.deleteProperty(performance, 'now');
    }
  }
}
