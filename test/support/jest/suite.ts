import { describe, it } from '@jest/globals';

/** A suite that needs a program: skipped, with one line on why, if it is missing; but on CI it fails. */
export function describeWith(missing: string | undefined, name: string, suite: () => void): void {
  if (missing === undefined) {
    describe(name, suite);
  } else if (/^(?:true|1)$/.test(process.env.CI ?? '')) {
    describe(name, () => {
      it('should have what it needs', () => {
        throw new Error(`On CI this suite must run, but ${missing}`);
      });
    });
  } else {
    process.stderr.write(`Skipped "${name}": ${missing}\n`);
    describe.skip(name, suite);
  }
}

/** Prints what a suite of scale has measured, as a row of a Markdown table: a figure fails no test by itself. */
export function figure(what: string, value: string): void {
  process.stderr.write(`| ${what} | ${value} |\n`);
}
