import { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
import type { components } from './generated/openapi.js';
import { RequestError } from './request.error.js';
import { retryAfter } from './retry-after.js';

/** The body of a failure, with a number that this version knows. */
export type KnownErrorBody = components['schemas']['Error'] & { error: ErrorNumber };

/** A failure that the store itself answered with: a number of its catalogue, and its message. */
export class PlantStoreError extends RequestError {
  override readonly name = 'PlantStoreError';
  /** The number in the error catalogue. */
  readonly error: ErrorNumber;
  /** The HTTP status: 400, or the first three digits of `error` where the service runs with `ERROR_STATUS=semantic`. */
  readonly status: number;
  /** Where to look in the service's log, for the numbers that it logs. */
  readonly requestId: string | undefined;

  constructor({ error, message }: KnownErrorBody, { status, headers }: Response, idempotencyKey: string) {
    super(message, { retryable: isRetryable(error), retryAfter: retryAfter(headers), idempotencyKey });
    this.error = error;
    this.status = status;
    this.requestId = headers.get('X-Request-Id') ?? undefined;
  }
}

/**
 * After an `unknown` outcome too: every attempt carries the same `Idempotency-Key`, so a repetition does no harm and is
 * the only way to learn whether the plant was created. A credential that is refused stays refused.
 */
function isRetryable(error: ErrorNumber): boolean {
  switch (ERROR_CATALOGUE[error].retry) {
    case 'yes':
    case 'later':
    case 'unknown':
    case 'with the same `Idempotency-Key`':
      return true;
    case 'no':
    case 'with a good token':
      return false;
  }
}
