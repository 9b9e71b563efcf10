import { median } from '../measure/median.js';
import type { Part } from './part.js';

const WARM_UP_MS = 1000;
const SAMPLE_MS = 20;
const SAMPLES = 51;

/** Nanoseconds for each run, the median of many samples. */
export async function measurePart(part: Part, signal: AbortSignal): Promise<number> {
  let count = 1;
  const warm = performance.now() + WARM_UP_MS;
  while (performance.now() < warm) {
    signal.throwIfAborted();
    const taken = await sample(part, count);
    if (taken < SAMPLE_MS) count *= 2;
  }
  const samples = [];
  for (let index = 0; index < SAMPLES; index++) {
    signal.throwIfAborted();
    samples.push(((await sample(part, count)) / count) * 1e6);
  }
  return median(samples) ?? NaN;
}

/** If what a run came to is kept, so that the compiler can't leave it out. */
export const sink: { result?: unknown } = {};

/** Milliseconds for so many runs. */
async function sample({ run, concurrency }: Part, count: number): Promise<number> {
  const start = performance.now();
  if (concurrency === undefined) {
    for (let index = 0; index < count; index++) sink.result = run();
  } else {
    let left = count;
    const loop = async (): Promise<void> => {
      while (left-- > 0) sink.result = await run();
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
  }
  return performance.now() - start;
}
