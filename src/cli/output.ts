import { ConfigurationError } from '../app/config-error.js';
import { TokenAdministrationError } from '../auth/tokens/token-admin-sql.js';
import { MigrationError } from '../database/migrations/migration-status.js';
import { EmbeddedPostgresError } from '../dev-postgres/errors.js';
import { reasonOf } from '../util/text.js';

/** The result of a command could not be printed. The message says what the command has done. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/** A command that looks for faults has found some, and printed them. */
export class FaultsFoundError extends Error {
  override readonly name = 'FaultsFoundError';
}

/** Errors whose message explains the failure, so that the stack would add nothing. */
const EXPLAINED = [
  ConfigurationError,
  EmbeddedPostgresError,
  MigrationError,
  TokenAdministrationError,
  OutputError,
  FaultsFoundError,
];

/** What a command that failed prints: the message if it explains the failure, else the stack. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const explained = EXPLAINED.some((known) => error instanceof known);
  return explained ? `plant-store: ${error.message}` : (error.stack ?? error.message);
}

/** Writes to standard output. Rejects if that fails, which console.log does not report. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Without a listener the event ends the process.
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => {
      if (error) reject(error);
      else resolve();
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
