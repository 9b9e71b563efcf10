import { NotFoundException } from '@nestjs/common';
import { ApiError } from './api.error.js';
import { UnknownPathError } from './unknown-path.error.js';

/** What the client is told about any failure. Whatever nobody foresaw is 50000, and says nothing of its cause. */
export function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  // Nest's own answer to a path that no route matches.
  if (failure instanceof NotFoundException) return new UnknownPathError();
  const message =
    'The service failed in a way it did not foresee. Its log has the details under the X-Request-Id of this answer.';
  return new ApiError(50000, message, { cause: failure });
}
