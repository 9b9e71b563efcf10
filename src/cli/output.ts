import { constants } from 'node:os';
import { escapeControls, ExplainedError, reasonOf } from '../util/text.js';

/** A command could not print its result. The message says what it has done. */
export class OutputError extends ExplainedError {
  override readonly name = 'OutputError';
}

/** What a command that failed prints: the message if it explains the failure, else the stack. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof ExplainedError ? `plant-store: ${error.message}` : (error.stack ?? error.message);
}

/** Writes to standard output. Rejects if that fails, which console.log does not report. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Without a listener the event ends the process.
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => {
      if (error) reject(error);
      else {
        process.stdout.off('error', reject);
        resolve();
      }
    });
  });
}

/** Prints what can be asked for again, so that a reader that stops reading, such as head, is no failure. @throws OutputError */
export async function print(text: string): Promise<void> {
  try {
    await write(`${text}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
    throw new OutputError(`standard output cannot be written to (${reasonOf(error)})`);
  }
}

/** Has the first SIGINT, SIGTERM or SIGHUP call `stop`, and end the process after it; the second one ends it at once. */
export function endBySignal(stop: () => Promise<unknown>): void {
  const end = (signal: NodeJS.Signals): void => {
    void stop().finally(() => process.exit(128 + constants.signals[signal]));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
}

const GAP = '   ';

/** A table for people. What is in the database may have control characters: none reaches the terminal. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(escapeControls));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => cell.padEnd(widths?.[column] ?? 0);
  return rows.map((row) => row.map(pad).join(GAP).trimEnd()).join('\n');
}
