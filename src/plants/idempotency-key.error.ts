import { ApiError } from '../errors/api-error.js';

export class InvalidIdempotencyKeyError extends ApiError {
  constructor(found: string) {
    super(40004, `The Idempotency-Key ${found}. It must be sent at most once and have 1 to 255 characters.`);
  }
}

export class IdempotencyKeyReusedError extends ApiError {
  constructor(id: bigint) {
    super(
      40902,
      `The plant ${id} was created with this Idempotency-Key, but with another name or tag. Repeat a request unchanged, or send another id.`,
    );
  }
}
