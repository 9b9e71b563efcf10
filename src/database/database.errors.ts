import { ExplainedError } from '../util/text.js';

/** An error of PostgreSQL: its SQLSTATE, and a severity in the language of the server's messages. */
interface ServerError {
  code?: string | undefined;
  severity?: string | undefined;
}

/** Whether PostgreSQL itself has reported an error, through any copy of pg. */
export function isServerError(error: unknown): error is ServerError {
  return (Object(error) as ServerError).severity !== undefined;
}

/** SQLSTATEs after which the session goes on, whatever the severity's language: faults of data, constraints, statements, transactions, locks. */
const STATEMENT_ONLY = /^(?:0A|21|22|23|25006|40|42|44|54|55|57014|P0)/;

/** Whether PostgreSQL rejected a statement, on a connection that is as good as before. */
export function isRejection({ code, severity }: ServerError): boolean {
  return code !== undefined && (severity === undefined || severity === 'ERROR' || STATEMENT_ONLY.test(code));
}

/** SQLSTATE of a statement that would write, on a standby or in a transaction that may only read. */
export const READ_ONLY = '25006';
/** SQLSTATE of a statement that was cancelled, by its time limit for example. */
export const CANCELLED = '57014';

/** The SQLSTATE behind a failure, from pg itself or through a driver adapter of Prisma's. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code, originalCode, cause } = Object(error) as { code?: string; originalCode?: string; cause?: unknown };
  const state = originalCode ?? code;
  // Codes of Node.js, such as EPIPE, have no digit.
  if (state !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(state)) return state;
  return cause === undefined ? undefined : sqlStateOf(cause);
}

/** No connection could be made, so no statement was sent. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError';
}

/** Every connection stayed busy, or too many creates wait for one; no statement was sent. */
export class DatabaseOverloadedError extends Error {
  override readonly name = 'DatabaseOverloadedError';
}

/** The time was up before the answer came; the result of a statement that was sent is unknown. */
export class DatabaseTimeoutError extends Error {
  override readonly name = 'DatabaseTimeoutError';
}

/** The database does not have what this version needs, or cannot get it. The message says what to do. */
export class MigrationError extends ExplainedError {
  override readonly name = 'MigrationError';

  constructor(
    /** Why: `behind` lacks migrations of this build, `unknown` has others, and to `locked` another session was in the way. */
    readonly code: 'unreachable' | 'behind' | 'unknown' | 'locked' | 'refused',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
