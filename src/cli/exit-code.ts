import { withoutTokens } from '../auth/token-format.js';
import { ConfigurationError } from '../config/configuration.js';
import { MigrationError, sqlStateOf } from '../database/database.errors.js';
import { escapeLines, ExplainedError } from '../util/text.js';

/** EX_CONFIG of sysexits.h tells a service manager that another try is of no use. */
const EX_CONFIG = 78;

/** Runs a command. Prints why it failed, with the stack if nothing explains it, and returns the exit code. */
export async function exitCodeOf(command: () => Promise<unknown>): Promise<number> {
  try {
    await command();
    return 0;
  } catch (error) {
    if (error instanceof ExplainedError) printError(`plant-store: ${error.message}${adviceOn(error)}`);
    else printError(error instanceof Error && error.stack ? error.stack : String(error));
    return error instanceof ConfigurationError && !error.mayPass ? EX_CONFIG : 1;
  }
}

/** Prints to standard error. The text may repeat arguments or data, so control characters and tokens are removed. */
export function printError(text: string): void {
  console.error(escapeLines(withoutTokens(text.trimEnd())));
}

/** What to do if no connection could be made, by its SQLSTATE or the code of Node.js. Some failures of pg have none. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'Correct the user in its URL, the password (DATABASE_PASSWORD, MIGRATION_DATABASE_PASSWORD), or pg_hba.conf'],
  [/CERT|^UNABLE_TO/, 'Its URL needs a host name of the certificate, and sslrootcert=/path/ca.crt for its authority'],
  [/^E[A-Z]+/, 'Start PostgreSQL (the service does so without DATABASE_URL), or correct its URL'],
  [/^$/, 'Correct its URL (the host, or sslmode, which is disable for a server without TLS) or DATABASE_PASSWORD'],
];

function adviceOn(error: ExplainedError): string {
  if (!(error instanceof MigrationError) || error.code !== 'unreachable') return '';
  const code = sqlStateOf(error) ?? codeOf(error.cause as NodeJS.ErrnoException);
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(code)) ?? [];
  return advice === undefined ? '' : `. ${advice}`;
}

/** The code of Node.js, of an error or its cause. */
function codeOf({ code, cause }: NodeJS.ErrnoException): string {
  return code ?? (cause === undefined ? '' : codeOf(cause as NodeJS.ErrnoException));
}
