import { withoutTokens } from '../auth/token-format.js';
import { ConfigurationError } from '../config/environment.js';
import { MigrationError } from '../prisma/database.errors.js';
import { isLoginRefused, isUnknownDatabase, sqlStateOf } from '../prisma/storage-failure.js';
import { escapeControls, ExplainedError, reasonOf } from '../util/text.js';

class OutputError extends ExplainedError {
  override readonly name = 'OutputError';
}

/** Makes each line of a text safe for a terminal. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

/** Prints to standard error. The text may repeat arguments or data, so control characters and tokens are removed. */
export function printError(text: string): void {
  console.error(escapeLines(withoutTokens(text.trimEnd())));
}

/** EX_CONFIG of sysexits.h tells a service manager that another try is of no use. */
const EX_CONFIG = 78;

/** Runs a command. Prints why it failed, and returns the exit code. */
export async function exitCodeOf(command: () => Promise<unknown>): Promise<number> {
  try {
    await command();
    return 0;
  } catch (error) {
    printError(describeFailure(error));
    return error instanceof ConfigurationError && !error.mayPass ? EX_CONFIG : 1;
  }
}

/** The text for a failed command: the message if it explains the failure, else the stack. */
function describeFailure(error: unknown): string {
  if (error instanceof ExplainedError) return `plant-store: ${error.message}${adviceOn(error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The advice if no connection could be made. The other messages of PostgreSQL say what to do. */
export function adviceOn(error: unknown): string {
  if (!(error instanceof MigrationError) || error.code !== 'unreachable') return '';
  if (sqlStateOf(error) === undefined)
    return '. Start PostgreSQL (the service does so without DATABASE_URL), or correct its URL';
  if (isUnknownDatabase(error)) return '. Create it (CREATE DATABASE), or correct its URL';
  if (!isLoginRefused(error)) return '';
  return '. Correct the user in its URL, the password (DATABASE_PASSWORD, MIGRATION_DATABASE_PASSWORD), or pg_hba.conf';
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
