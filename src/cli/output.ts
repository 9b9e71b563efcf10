import { escapeControls, escapeLines, ExplainedError, reasonOf } from '../util/text.js';

class OutputError extends ExplainedError {
  override readonly name = 'OutputError';
}

/**
 * Writes to standard output. A command such as head may close it early: a repeatable output may be lost then.
 *
 * @param ifLost the advice if the output cannot be repeated and is lost
 * @throws OutputError, because console.log would hide the failure
 */
export async function print(text: string, ifLost?: string): Promise<void> {
  const ignore = (): void => undefined;
  // Without a listener, the event would end the process.
  process.stdout.once('error', ignore);
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
    process.stdout.write(`${escapeLines(text)}\n`, resolve);
  });
  if (!error) process.stdout.off('error', ignore);
  else if (ifLost !== undefined || error.code !== 'EPIPE')
    throw new OutputError(`standard output cannot be written to (${reasonOf(error)}). ${ifLost ?? ''}`.trim());
}

/** A table for people. Data may hold control characters or line breaks, so each cell is escaped. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(escapeControls));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => cell.padEnd(widths?.[column] ?? 0);
  return rows.map((row) => row.map(pad).join('   ').trimEnd()).join('\n');
}
