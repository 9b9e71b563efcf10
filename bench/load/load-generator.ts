import { Autocannon } from './autocannon.js';
import type { LoadGenerator } from './load.js';
import { Wrk } from './wrk.js';

/** The best that this machine has. */
export async function findLoadGenerator(): Promise<LoadGenerator> {
  return (await Wrk.find()) ?? new Autocannon();
}
