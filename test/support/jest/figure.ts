/** Prints what a suite of scale has measured, as a row of a Markdown table: a figure fails no test by itself. */
export function figure(what: string, value: string): void {
  process.stderr.write(`| ${what} | ${value} |\n`);
}
