import { ExplainedError, reasonOf } from '../util/text.js';

abstract class DatabaseError extends Error {
  override readonly name = this.constructor.name;
}

/** The statement stored nothing: it was not sent, or its answer says so. */
export abstract class NothingWrittenError extends DatabaseError {}

/** No connection could be made or used, so nothing was executed. */
export class DatabaseUnreachableError extends NothingWrittenError {}

/** Every connection stayed busy, too many creates wait, or the time was up before a statement stored the plant. */
export class DatabaseOverloadedError extends NothingWrittenError {}

/** An insert stored nothing, although no plant has the id. */
export class InsertSkippedError extends NothingWrittenError {
  override readonly message =
    'no plant has the id, and none is stored: a trigger or a rule of the table plants skips it, or the row was deleted';
}

/** The time was up; the outcome of a statement that was sent is unknown. */
export class DatabaseTimeoutError extends DatabaseError {}

/** The connection was lost; the outcome of a statement that was sent is unknown. The cause says what happened. */
export class DatabaseLostError extends DatabaseError {}

/** Another server may accept writes. */
export class ReadOnlyServerError extends DatabaseError {
  override readonly message = 'the database accepts no writes: it is a standby, or read-only';
}

/** A pooler dropped the settings of a new session. */
export class SettingsDroppedError extends DatabaseError {
  override readonly message = 'the session lacks the settings that it was opened with, as a pooler drops them';
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

// The codes of PostgreSQL (SQLSTATE). No other file compares one.

/** Codes of Node.js such as EPIPE have no digit, and those of Prisma such as P1001 have their own class. */
const SQLSTATE = /^(?!P[1-9])(?=.*\d)[0-9A-Z]{5}$/;
/** After these the session goes on, in any language: errors of data, statements, locks and transactions. */
const STATEMENT_ONLY = /^(?:0A|21|22|23|25006|26000|40|42|44|54|55|57014|P0)/;
/** The server is a standby, or read-only; or the statement was cancelled, perhaps by its time limit. */
const ENDS_SESSION = /^(?:25006|57014)$/;
/** These leave open whether the statement was executed: a pooler lost its server (08), or says so, or a cancel came. */
const UNDECIDED = /^08|^40003$|^57014$/;
/** A coordinator of Citus lost the node of a shard. The node may have committed before. */
const SHARD_LOST = /^(?:08|57P|XX)/;
/** The server may take the statement later: rollback, lack of resources, intervention of an operator, system error. */
const TRANSIENT = /^(?:40|53|55|57|58)|^25006$/;
/** No plant causes these: a standby, a shutdown, a missing table or right, a lack of resources, a file error. */
const NOT_CAUSED_BY_A_PLANT = /^25006$|^57P|^42|^53|^58/;
/** A prepared statement is gone, or there already: a pooler has changed the session. */
const PREPARED_ELSEWHERE = /^(?:26000|42P05)$/;
const LOCK_TIMEOUT_OR_DEADLOCK = /^(?:55P03|40P01)$/;
const INSUFFICIENT_PRIVILEGE = '42501';
const PROTOCOL_VIOLATION = '08P01';

// What an error of pg means.

/** The severity is in the language of the server. */
interface ErrorOfPg {
  readonly code?: string;
  readonly severity?: string;
}

/** Whether PostgreSQL rejected the statement, so that nothing of it was executed. */
export function isRejection(error: unknown): boolean {
  const { code = '', severity } = Object(error) as ErrorOfPg;
  return severity !== undefined && (severity === 'ERROR' || STATEMENT_ONLY.test(code));
}

/** Whether the session is still good for others. A cancelled statement may run on, as on Citus when a node hangs. */
export function leavesSessionUsable(error: unknown): boolean {
  const { code = '' } = Object(error) as ErrorOfPg;
  return isRejection(error) && !ENDS_SESSION.test(code);
}

/** Whether a prepared statement was not executed, because the session is another one than it seems. */
export function isPreparedElsewhere(error: unknown): boolean {
  return isRejection(error) && PREPARED_ELSEWHERE.test((error as ErrorOfPg).code ?? '');
}

// What an error of pg means that Prisma may have wrapped.

interface ErrorOfPrisma {
  readonly code?: unknown;
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown } } };
}

/** The SQLSTATE of a rejection by PostgreSQL; undefined for any other error. */
function rejectionOf(error: unknown): string | undefined {
  const { code, meta } = Object(error) as ErrorOfPrisma;
  const state = meta?.driverAdapterError?.cause?.originalCode ?? code;
  return typeof state === 'string' && SQLSTATE.test(state) ? state : undefined;
}

/** The SQLSTATE of an error or of its cause. */
export function sqlStateOf(error: unknown): string | undefined {
  const { cause } = Object(error) as { cause?: unknown };
  return rejectionOf(error) ?? (cause === undefined ? undefined : sqlStateOf(cause));
}

/** The message of the root cause, in one line. Prisma keeps what PostgreSQL said in `originalMessage`. */
export function rootReasonOf(error: unknown): string {
  const { cause } = Object(error) as { cause?: { message?: string; originalMessage?: string } };
  if (cause?.originalMessage !== undefined) return reasonOf(cause.originalMessage);
  return cause?.message === undefined ? reasonOf(error) : rootReasonOf(cause);
}

/** Whether a failed statement may have been executed. Once it was sent, only a rejection says that it was not. */
export function isUndecided(error: unknown): boolean {
  if (error instanceof NothingWrittenError) return false;
  const state = rejectionOf(error);
  return state === undefined || UNDECIDED.test(state);
}

/** The same for the statement of one shard of Citus. */
export function isUndecidedOnShard(error: unknown): boolean {
  return isUndecided(error) || SHARD_LOST.test(rejectionOf(error) ?? '');
}

/** Whether the server rejected the statement for now, and may take it later. */
export function isRejectedForNow(error: unknown): boolean {
  return TRANSIENT.test(rejectionOf(error) ?? '');
}

/** Whether PostgreSQL rejected the statement, perhaps because of only one of its plants. */
export function isPlantRejected(error: unknown): boolean {
  const state = rejectionOf(error);
  return state !== undefined && !NOT_CAUSED_BY_A_PLANT.test(state);
}

export function isLocked(error: unknown): boolean {
  return LOCK_TIMEOUT_OR_DEADLOCK.test(sqlStateOf(error) ?? '');
}

export function lacksPrivilege(error: unknown): boolean {
  return sqlStateOf(error) === INSUFFICIENT_PRIVILEGE;
}

/** Whether the server, or a pooler before it, refuses or drops a parameter of the start-up packet. */
export function isSetUpRefused(error: unknown): boolean {
  return error instanceof SettingsDroppedError || rejectionOf(error) === PROTOCOL_VIOLATION;
}
