import { expect } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';

/** Less than a test may take, so that the test fails by this and leaves nothing running. */
const LIMIT_MS = 40_000;

/** Resolves once the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, limit = LIMIT_MS): Promise<void> {
  const deadline = performance.now() + limit;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`This did not come true in ${limit} ms: ${String(condition)}`);
    await setTimeout(5);
  }
}

const TICK_MS = 20;

/** Measures time, but for that in which this process got no turn: a machine that stalls is no fault of the store's. */
export class Stopwatch implements Disposable {
  private last = performance.now();
  private sum = 0;
  private readonly timer = setInterval(() => this.elapsed, TICK_MS);

  /** In milliseconds. */
  get elapsed(): number {
    const now = performance.now();
    this.sum += Math.min(now - this.last, 3 * TICK_MS);
    this.last = now;
    return this.sum;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }
}

/** Resolves once the condition holds. From so many milliseconds on, it must hold whenever it is asked. */
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
