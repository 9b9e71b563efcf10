import { expect } from '@jest/globals';

/** What loading a configuration throws for these faults and no others. */
export function refusal(...faults: unknown[]): Error {
  return expect.objectContaining({ faults }) as unknown as Error;
}
