import { describe, expect } from '@jest/globals';

/** A suite that needs a program: skipped, with one line on why, if it is missing; but on CI it runs, and fails. */
export function describeWith(missing: string | undefined, name: string, suite: () => void): void {
  const isSkipped = missing !== undefined && !/^(?:true|1)$/.test(process.env.CI ?? '');
  if (missing !== undefined) process.stderr.write(`${isSkipped ? 'Skipped' : 'Must run'} "${name}": ${missing}\n`);
  (isSkipped ? describe.skip : describe)(name, suite);
}

/** Prints what a suite of scale has measured, as a row of a Markdown table: a figure fails no test by itself. */
export function figure(what: string, value: string): void {
  process.stderr.write(`| ${what} | ${value} |\n`);
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
