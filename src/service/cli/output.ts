import { withoutTokens } from '../../auth/token-format.js';
import { MigrationError } from '../../database/database.errors.js';
import { escapeControls, ExplainedError, reasonOf } from '../../util/text.js';

/** A command could not print its result. */
class OutputError extends ExplainedError {
  override readonly name = 'OutputError';
}

/** Text of several lines, each safe for a terminal. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

/** Prints to standard error. It may repeat arguments, or what the database says: no control character may reach a terminal, no token a log. */
export function printError(text: string): void {
  console.error(escapeLines(withoutTokens(text.trimEnd())));
}

/** What a command that failed prints: the message if it explains the failure, else the stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof ExplainedError) return `plant-store: ${error.message}${adviceOn(error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What to correct if no connection to the database can be made. */
export function adviceOn(error: unknown): string {
  const isUnreachable = error instanceof MigrationError && error.code === 'unreachable';
  return isUnreachable
    ? '. Start PostgreSQL (the service does so without DATABASE_URL), or correct its URL, the user or the password'
    : '';
}

/**
 * Writes to standard output. What can be asked for again may lose its reader, as with head.
 *
 * @param ifLost what to do if nobody reads what is shown this once
 * @throws OutputError, where console.log says nothing
 */
export async function print(text: string, ifLost?: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Without a listener the event ends the process.
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

/** A table for people. What is in the database may have control characters, ends of lines too: none reaches the terminal. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(escapeControls));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => cell.padEnd(widths?.[column] ?? 0);
  return rows.map((row) => row.map(pad).join(GAP).trimEnd()).join('\n');
}
