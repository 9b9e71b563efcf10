import { expect } from '@jest/globals';

/** What a promise rejects with; it must. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejections: unknown[] = [];
  await promise.catch((reason: unknown) => rejections.push(reason));
  if (rejections.length === 0) throw new Error('The promise did not reject.');
  return rejections[0];
}

/** The faults of the options that something is given, which it has to refuse as the options of this class; none if it takes them. */
export function faultsOf(owner: string, use: () => unknown): string[] {
  try {
    use();
    return [];
  } catch (error) {
    const [heading, ...faults] = (error as Error).message.split('\n');
    expect(heading).toBe(`The options of ${owner} cannot be used:`);
    return faults;
  }
}
