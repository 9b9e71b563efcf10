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
