import { HttpException } from '@nestjs/common';
import { ApiError } from './api-error.js';
import { ERROR_CATALOGUE, type ErrorNumber } from './error-catalogue.js';
import { UnknownPathError } from './unknown-path.error.js';

const GIVEN_UP =
  'The application did not wait for the answer any longer, and whether the plant was created is unknown. ' +
  'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.';

/** What the client is told about any failure. Whatever nobody foresaw is 50000, and says nothing of its cause. */
export function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  if (failure instanceof HttpException && failure.getStatus() < 500) return fromStatus(failure);
  const message =
    'The service failed in a way it did not foresee. Its log has the details under the X-Request-Id of this answer.';
  return new ApiError(50000, message, { cause: failure });
}

/** A refusal by Nest, Express or a guard of a host: the number that begins with its status, where there is one. */
function fromStatus(failure: HttpException): ApiError {
  const number = failure.getStatus() * 100;
  if (number === 40400) return new UnknownPathError();
  // Not 40800: whoever in a host gave up waiting, the plant may have been created meanwhile.
  if (number === 40800) return new ApiError(50400, GIVEN_UP, { cause: failure });
  return new ApiError(number in ERROR_CATALOGUE ? (number as ErrorNumber) : 40010, failure.message, { cause: failure });
}
