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
  await new Promise<void>((resolve, reject) => {
    // Without a listener, the event would end the process.
    process.stdout.once('error', reject);
    process.stdout.write(`${escapeLines(text)}\n`, (error) => {
      if (error) return;
      process.stdout.off('error', reject);
      resolve();
    });
  }).catch((cause: unknown) => {
    if (ifLost === undefined && (cause as NodeJS.ErrnoException).code === 'EPIPE') return;
    const lost = ifLost === undefined ? '' : `. ${ifLost}`;
    throw new OutputError(`standard output cannot be written to (${reasonOf(cause)})${lost}`, { cause });
  });
}

const GAP = '   ';

/** A table for people. Data may hold control characters or line breaks, so each cell is escaped. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(escapeControls));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => cell.padEnd(widths?.[column] ?? 0);
  return rows.map((row) => row.map(pad).join(GAP).trimEnd()).join('\n');
}
