import { isDriverAdapterError } from '@prisma/driver-adapter-utils';
import {
  DatabaseOverloadedError,
  DatabaseUnreachableError,
  isRejection,
  isServerError,
} from '../database/database.errors.js';
import {
  type ApiError,
  overloaded,
  storageTimeout,
  storageUnavailable,
  unforeseenFailure,
} from '../errors/api-error.js';

/** An insert has stored nothing, twice, though no plant has the id. */
export class PlantLeftOutError extends Error {
  override readonly name = 'PlantLeftOutError';
  override readonly message =
    'no plant has the id, and none is stored: a trigger or a rule of the table plants leaves it out';
}

/**
 * SQLSTATEs that leave open whether the statement was carried out: a connection lost on the way, by a pooler between us and
 * the server for example; a statement completion that is unknown by its name; a statement that was cancelled.
 */
const UNDECIDED = /^08|^40003$|^57014$/;
/**
 * SQLSTATE classes of a server that rejects the statement now and may take it later: transaction rollback, insufficient
 * resources, operator intervention, system error; and a server that is (for now) a read-only standby.
 */
const TRANSIENT = /^(?:40|53|55|57|58)|^25006$/;
/** SQLSTATEs that every statement gets now: the server is a standby, it shuts down, lacks resources; a table or a privilege is missing. */
const NO_PLANTS_FAULT = /^25006$|^57P|^42|^53|^58/;

/** What a failed create means to the client: above all, whether something may have been written. */
export function storageError(error: unknown): ApiError {
  if (error instanceof DatabaseUnreachableError) return storageUnavailable(error);
  if (error instanceof DatabaseOverloadedError) return overloaded(error);
  if (isUndecided(error)) return storageTimeout(error);
  if (TRANSIENT.test(rejectionOf(error) ?? '')) return storageUnavailable(error);
  return unforeseenFailure(error);
}

/** Whether PostgreSQL rejected a statement for what may be the fault of one of its plants alone. */
export function isPlantRejected(error: unknown): boolean {
  const state = rejectionOf(error);
  return state !== undefined && !NO_PLANTS_FAULT.test(state);
}

/** Whether a statement may have been carried out although it failed: if it was sent, only a plain rejection says that it was not. */
export function isUndecided(error: unknown): boolean {
  const unsent = [DatabaseUnreachableError, DatabaseOverloadedError, PlantLeftOutError];
  if (unsent.some((type) => error instanceof type)) return false;
  const state = rejectionOf(error);
  return state === undefined || UNDECIDED.test(state);
}

/** The SQLSTATE with which PostgreSQL rejected a statement; undefined for any other failure. */
export function rejectionOf(error: unknown): string | undefined {
  // Prisma's client has it in an error of its own.
  const failure = (Object(error) as { meta?: { driverAdapterError?: unknown } }).meta?.driverAdapterError ?? error;
  if (isServerError(failure)) return isRejection(failure) ? failure.code : undefined;
  if (!(failure instanceof Error && isDriverAdapterError(failure))) return undefined;
  const { originalCode: code, severity } = failure.cause as { originalCode?: string; severity?: string };
  return isRejection({ code, severity }) ? code : undefined;
}
