import { appendFileSync } from 'node:fs';

/** A row of the table that `npm run test:scale` prints at its end: a figure is measured, and fails no test by itself. */
export function figure(what: string, value: string): void {
  if (process.env.TEST_FIGURES) appendFileSync(process.env.TEST_FIGURES, `${JSON.stringify([what, value])}\n`);
}
