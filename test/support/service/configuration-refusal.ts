import { expect } from '@jest/globals';

/** What loading a configuration throws for these faults and no others. */
export function refusal(...faults: unknown[]): Error {
  return expect.objectContaining({ faults }) as unknown as Error;
}

/** The faults of the options that something is given, which it has to refuse with this error; none if it takes them. */
export function faultsOf(RefusedError: new (faults: string[]) => Error, use: () => unknown): string[] {
  try {
    use();
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(RefusedError);
    const [heading, ...faults] = (error as Error).message.split('\n');
    expect(heading).toBe(new RefusedError([]).message.trim());
    return faults;
  }
}
