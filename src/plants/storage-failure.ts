import { isDriverAdapterError } from '@prisma/driver-adapter-utils';
import {
  DatabaseOverloadedError,
  DatabaseUnreachableError,
  isRejection,
  isServerError,
} from '../prisma/database.errors.js';
import {
  type ApiError,
  overloaded,
  storageTimeout,
  storageUnavailable,
  unforeseenFailure,
} from '../errors/api-error.js';

/** An insert stored nothing twice, although no plant has the id. */
export class PlantLeftOutError extends Error {
  override readonly name = 'PlantLeftOutError';
  override readonly message =
    'no plant has the id, and none is stored: a trigger or a rule of the table plants leaves it out';
}

/**
 * SQLSTATEs that leave open whether the statement was executed. The connection was lost, between a pooler and the
 * server for example (08). The completion is unknown (40003). The statement was cancelled (57014).
 */
const UNDECIDED = /^08|^40003$|^57014$/;
/**
 * SQLSTATE classes of a server that may take the statement later: transaction rollback, insufficient resources,
 * operator intervention, system error. 25006 is a server that is a standby or read-only.
 */
const TRANSIENT = /^(?:40|53|55|57|58)|^25006$/;
/**
 * SQLSTATEs that no plant causes: a standby, a shutdown, a missing table or right, a lack of resources, a file error.
 */
const NO_PLANTS_FAULT = /^25006$|^57P|^42|^53|^58/;

/** Maps a failed create to the answer. The answer says whether something may have been written. */
export function storageError(error: unknown): ApiError {
  if (error instanceof DatabaseUnreachableError) return storageUnavailable(error);
  if (error instanceof DatabaseOverloadedError) return overloaded(error);
  if (isUndecided(error)) return storageTimeout(error);
  if (TRANSIENT.test(rejectionOf(error) ?? '')) return storageUnavailable(error);
  return unforeseenFailure(error);
}

/** Whether PostgreSQL rejected the statement, perhaps because of only one of its plants. */
export function isPlantRejected(error: unknown): boolean {
  const state = rejectionOf(error);
  return state !== undefined && !NO_PLANTS_FAULT.test(state);
}

/** Whether a failed statement may have been executed. Once it was sent, only a rejection says that it was not. */
export function isUndecided(error: unknown): boolean {
  const unsent = [DatabaseUnreachableError, DatabaseOverloadedError, PlantLeftOutError];
  if (unsent.some((type) => error instanceof type)) return false;
  const state = rejectionOf(error);
  return state === undefined || UNDECIDED.test(state);
}

/** The SQLSTATE of a rejection by PostgreSQL; undefined for any other failure. */
export function rejectionOf(error: unknown): string | undefined {
  // Prisma wraps the error of the driver adapter in one of its own.
  const failure = (Object(error) as { meta?: { driverAdapterError?: unknown } }).meta?.driverAdapterError ?? error;
  if (isServerError(failure)) return isRejection(failure) ? failure.code : undefined;
  if (!(failure instanceof Error && isDriverAdapterError(failure))) return undefined;
  const { originalCode: code, severity } = failure.cause as { originalCode?: string; severity?: string };
  return isRejection({ code, severity }) ? code : undefined;
}
