import { expect } from '@jest/globals';
import { until } from './until.js';

const TICK_MS = 20;

/** Measures time, but for that in which this process got no turn: a machine that stalls is no fault of the store's. */
export class Stopwatch implements Disposable {
  private readonly start = performance.now();
  private last = this.start;
  private stalled = 0;
  private readonly timer = setInterval(() => {
    this.tick();
  }, TICK_MS);

  /** In milliseconds. */
  get elapsed(): number {
    this.tick();
    return this.last - this.start - this.stalled;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const now = performance.now();
    this.stalled += Math.max(0, now - this.last - 2 * TICK_MS);
    this.last = now;
  }
}

/** Resolves once the condition holds, which must hold whenever it is asked for so many milliseconds or more from now. */
export async function expectWithin(milliseconds: number, condition: () => Promise<boolean>): Promise<void> {
  using stopwatch = new Stopwatch();
  let lastFalse = 0;
  await until(async () => {
    const asked = stopwatch.elapsed;
    if (await condition()) return true;
    lastFalse = asked;
    return false;
  });
  expect(lastFalse).toBeLessThan(milliseconds);
}
