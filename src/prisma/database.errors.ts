import { ExplainedError } from '../util/text.js';

/** An error of PostgreSQL. Its severity is in the language of the server. */
interface ServerError {
  code?: string | undefined;
  severity?: string | undefined;
}

/** Whether PostgreSQL reported this error. It works with any copy of pg. */
export function isServerError(error: unknown): error is ServerError {
  return (Object(error) as ServerError).severity !== undefined;
}

/** SQLSTATEs after which the session goes on, in any language: faults of data, statements, locks and transactions. */
const STATEMENT_ONLY = /^(?:0A|21|22|23|25006|40|42|44|54|55|57014|P0)/;

/** Whether PostgreSQL rejected the statement and the connection is still good. */
export function isRejection({ code, severity }: ServerError): boolean {
  return code !== undefined && (severity === undefined || severity === 'ERROR' || STATEMENT_ONLY.test(code));
}

/** SQLSTATE of a write on a standby or in a read-only transaction. */
export const READ_ONLY = '25006';
/** SQLSTATE of a cancelled statement. Its time limit may have cancelled it. */
export const CANCELLED = '57014';
/** SQLSTATE of a password that is wrong, or missing. */
export const INVALID_PASSWORD = '28P01';
/** SQLSTATE of a role that does not exist or may not log in, or of an address that pg_hba.conf does not admit. */
export const INVALID_AUTHORIZATION = '28000';
/** SQLSTATE of a database that does not exist. */
export const UNKNOWN_DATABASE = '3D000';
/** SQLSTATE of a missing right. */
export const INSUFFICIENT_PRIVILEGE = '42501';
/** SQLSTATEs of a lock timeout and of a deadlock. */
export const LOCKED = ['55P03', '40P01'];

/** Finds the SQLSTATE of a failure of pg or of a driver adapter of Prisma. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code, originalCode, cause } = Object(error) as { code?: string; originalCode?: string; cause?: unknown };
  const state = originalCode ?? code;
  // Codes of Node.js such as EPIPE have no digit.
  if (state !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(state)) return state;
  return cause === undefined ? undefined : sqlStateOf(cause);
}

/** No connection could be made, so no statement was sent. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError';
}

/** Every connection stayed busy, or too many creates wait; no statement was sent. */
export class DatabaseOverloadedError extends Error {
  override readonly name = 'DatabaseOverloadedError';
}

/** The time was up; the outcome of a statement that was sent is unknown. */
export class DatabaseTimeoutError extends Error {
  override readonly name = 'DatabaseTimeoutError';
}

/** The database cannot be used, or cannot be migrated. The message says what to do. */
export class MigrationError extends ExplainedError {
  override readonly name = 'MigrationError';

  constructor(
    /** `behind`: migrations are missing. `unknown`: there are others. `locked`: another session was in the way. */
    readonly code: 'unreachable' | 'behind' | 'unknown' | 'locked' | 'refused',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
