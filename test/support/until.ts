import { setTimeout } from 'node:timers/promises';

/** Less than a test may take, so that the test fails by this and leaves nothing running. */
const LIMIT_MS = 40_000;

/** Resolves once the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`This did not come true in ${LIMIT_MS} ms: ${String(condition)}`);
    await setTimeout(5);
  }
}
