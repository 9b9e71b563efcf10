import { ApiError } from '../errors/api-error.js';
import { RETRY_LATER } from '../errors/retry-later.js';

export class StorageUnavailableError extends ApiError {
  constructor(cause: unknown) {
    super(50300, 'The storage is unavailable. Nothing was written; send the request again later.', {
      cause,
      headers: RETRY_LATER,
    });
  }
}

export class StorageOverloadedError extends ApiError {
  constructor(cause: unknown) {
    super(50301, 'The storage has more to do than it can. Nothing was written; send the request again later.', {
      cause,
      headers: RETRY_LATER,
    });
  }
}

export class StorageTimeoutError extends ApiError {
  constructor(cause: unknown) {
    super(
      50400,
      'The storage did not answer in time, and whether the plant was created is unknown. ' +
        'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.',
      { cause },
    );
  }
}
