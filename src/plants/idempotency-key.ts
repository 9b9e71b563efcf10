import { InvalidIdempotencyKeyError } from './idempotency-key.error.js';

const MAX_LENGTH = 255;

/** @throws InvalidIdempotencyKeyError where this can't be kept with a plant; code of the application may say anything */
export function assertIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key !== 'string') throw new InvalidIdempotencyKeyError('is no string');
  if (key === '') throw new InvalidIdempotencyKeyError('is empty');
  if (key.length > MAX_LENGTH) throw new InvalidIdempotencyKeyError(`has ${key.length} characters`);
  if (key.includes('\0') || !key.isWellFormed()) {
    throw new InvalidIdempotencyKeyError('contains U+0000 or half a character, which PostgreSQL cannot store');
  }
}
