import { headerValues, nodeRequest, type PlatformRequest } from '../http/platform.js';
import { isStorableText } from './new-plant.js';
import { InvalidIdempotencyKeyError } from './plants.errors.js';

const MAX_LENGTH = 255;

/**
 * The `Idempotency-Key` of a request, or undefined where it has none.
 *
 * @throws InvalidIdempotencyKeyError
 */
export function idempotencyKey(request: PlatformRequest): string | undefined {
  const [key, ...others] = headerValues(nodeRequest(request), 'idempotency-key');
  if (others.length > 0) throw new InvalidIdempotencyKeyError('is repeated');
  if (key !== undefined) assertIdempotencyKey(key);
  return key;
}

/** @throws InvalidIdempotencyKeyError where this cannot be stored with a plant */
export function assertIdempotencyKey(key: string): void {
  if (key === '') throw new InvalidIdempotencyKeyError('is empty');
  if (key.length > MAX_LENGTH) throw new InvalidIdempotencyKeyError(`has ${key.length} characters`);
  if (!isStorableText(key)) {
    throw new InvalidIdempotencyKeyError('contains U+0000 or half a character, which PostgreSQL cannot store');
  }
}
