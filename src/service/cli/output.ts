import { withoutTokens } from '../../auth/token-format.js';
import { MigrationError, sqlStateOf } from '../../database/database.errors.js';
import { escapeControls, escapeControlsInLines, ExplainedError, reasonOf } from '../../util/text.js';

/** A command could not print its result. The message says what it has done. */
export class OutputError extends ExplainedError {
  override readonly name = 'OutputError';
}

/** Prints to standard error. It may repeat arguments, or what the database says: no control character may reach a terminal, no token a log. */
export function printError(text: string): void {
  console.error(escapeControlsInLines(withoutTokens(text.trimEnd())));
}

/** What a command that failed prints: the message if it explains the failure, else the stack. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof ExplainedError ? `plant-store: ${error.message}` : (error.stack ?? error.message);
}

/** Adds to a failure what to correct if no connection to the database can be made. */
export function adviseOnConnection(error: unknown): unknown {
  if (!(error instanceof MigrationError) || error.code !== 'unreachable') return error;
  return new MigrationError(error.code, `${error.message}. ${connectionAdvice(sqlStateOf(error))}`, { cause: error });
}

/** @param sqlState of the server's answer, if it has answered */
function connectionAdvice(sqlState = ''): string {
  if (sqlState === '3D000') return 'Create the database, or correct its name in DATABASE_URL.';
  if (sqlState.startsWith('28'))
    return 'Correct the user in DATABASE_URL, or the password there or in DATABASE_PASSWORD.';
  if (sqlState !== '') return 'The server has answered, and says what is wrong.';
  return 'Start PostgreSQL, or correct host, port and TLS in DATABASE_URL.';
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

const GAP = '   ';

/** A table for people. What is in the database may have control characters: none reaches the terminal. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(escapeControls));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string => cell.padEnd(widths?.[column] ?? 0);
  return rows.map((row) => row.map(pad).join(GAP).trimEnd()).join('\n');
}
