import { ApiError, RETRY_LATER } from '../errors/api-error.js';

export class StorageUnavailableError extends ApiError {
  constructor(cause: unknown) {
    const message = 'The storage is unavailable. Nothing was written; send the request again later.';
    super(50300, message, { cause, headers: RETRY_LATER });
  }
}

export class StorageOverloadedError extends ApiError {
  constructor(cause: unknown) {
    const message = 'The storage has more to do than it can. Nothing was written; send the request again later.';
    super(50301, message, { cause, headers: RETRY_LATER });
  }
}

export class StorageTimeoutError extends ApiError {
  constructor(cause: unknown) {
    const message =
      'The storage did not answer in time, and whether the plant was created is unknown. ' +
      'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.';
    super(50400, message, { cause });
  }
}

export class PlantExistsError extends ApiError {
  constructor(id: bigint) {
    super(40901, `The id ${id} is taken: a plant with this id exists already. Send another id.`);
  }
}

export class InvalidPlantError extends ApiError {
  /** @param faults one sentence part for each field that is missing or wrong */
  constructor(faults: readonly string[]) {
    super(40003, `This is not a plant: ${faults.join('. ')}.`);
  }
}

export class InvalidIdempotencyKeyError extends ApiError {
  constructor(found: string) {
    super(40004, `The Idempotency-Key ${found}. It must be sent at most once and have 1 to 255 characters.`);
  }
}

export class IdempotencyKeyReusedError extends ApiError {
  /** @param fields the names of those that a repetition has to have in common */
  constructor(id: bigint, fields: readonly string[]) {
    const found = `The plant ${id} was created with this Idempotency-Key, but with another ${fields.join(' or ')}`;
    super(40902, `${found}. Repeat a request unchanged, or send another id.`);
  }
}

/** An id is taken, so nothing was written, but the plant that has it was not found. */
export class ExistingPlantLookupError extends Error {
  override readonly name = 'ExistingPlantLookupError';
}

/** An insert has stored nothing, though no plant has the id. */
export class PlantSkippedError extends Error {
  constructor(triggers: readonly string[]) {
    super(`a BEFORE INSERT trigger of the table plants leaves plants out: ${triggers.join(', ')}`);
  }
}

/** More creates wait for the database than may wait; this one was not sent. */
export class WriteQueueFullError extends Error {
  override readonly name = 'WriteQueueFullError';
}
