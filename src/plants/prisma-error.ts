import { ApiError } from '../errors/api.error.js';
import { ConnectionPoolExhaustedError, DatabaseUnreachableError } from '../database/connection-pool.error.js';
import { Prisma } from '../database/generated/client.js';
import { StorageOverloadedError, StorageTimeoutError, StorageUnavailableError } from './storage.error.js';

/** What `@prisma/adapter-pg` tells of an error that PostgreSQL itself reported. */
interface ServerError {
  originalCode?: string;
  severity?: string;
}

const UNIQUE_VIOLATION = 'P2002';
/**
 * SQLSTATEs that leave open whether the statement came through: a connection lost on the way, by a pooler between us and
 * the server for example; a statement completion that is unknown by its name; a statement that was cancelled.
 */
const UNDECIDED = /^08|^40003$|^57014$/;
/**
 * SQLSTATE classes of a server that rejects the statement now and may take it later: transaction rollback, insufficient
 * resources, operator intervention, system error; and a server that is (for now) a read-only standby.
 */
const TRANSIENT = /^(?:40|53|55|57|58)|^25006$/;

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === UNIQUE_VIOLATION;
}

/** What a failed write means to the client: above all, whether something may have been written. */
export function writeError(error: unknown): ApiError {
  if (error instanceof DatabaseUnreachableError) return new StorageUnavailableError(error);
  if (error instanceof ConnectionPoolExhaustedError) return new StorageOverloadedError(error);
  const state = rejection(error);
  // Anything but a plain rejection leaves open whether the commit came through before it.
  if (state === undefined || UNDECIDED.test(state)) return new StorageTimeoutError(error);
  if (TRANSIENT.test(state)) return new StorageUnavailableError(error);
  return new ApiError(50000, 'The storage rejected the plant in a way the service did not foresee.', { cause: error });
}

/** What a failed look-up of the plant that holds an id means: the write before it was refused, so nothing was written. */
export function lookupError(error: unknown): ApiError {
  return error instanceof ConnectionPoolExhaustedError
    ? new StorageOverloadedError(error)
    : new StorageUnavailableError(error);
}

/** The SQLSTATE with which PostgreSQL rejected a statement and rolled it back; undefined for any other failure. */
function rejection(error: unknown): string | undefined {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return undefined;
  const { cause } = (error.meta?.driverAdapterError ?? {}) as { cause?: ServerError };
  if (cause?.severity !== undefined && cause.severity !== 'ERROR') return undefined;
  return cause?.originalCode;
}
