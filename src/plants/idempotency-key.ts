import { invalidIdempotencyKey } from '../errors/api-error.js';
import { headerValues, nodeRequest, type PlatformRequest } from '../http/platform.js';
import { isStorableText } from './plant.dto.js';

export const MAX_KEY_LENGTH = 255;

/** The `Idempotency-Key` of a request, if any. The service checks it. @throws ApiError 40004 if it is repeated */
export function idempotencyKey(request: PlatformRequest): string | undefined {
  const [key, ...others] = headerValues(nodeRequest(request), 'idempotency-key');
  if (others.length > 0) throw invalidIdempotencyKey('is repeated');
  return key;
}

/** @throws ApiError 40004 if the key cannot be stored with a plant */
export function assertIdempotencyKey(key: string): void {
  if (key === '') throw invalidIdempotencyKey('is empty');
  if (key.length > MAX_KEY_LENGTH) throw invalidIdempotencyKey(`has ${key.length} characters`);
  if (!isStorableText(key))
    throw invalidIdempotencyKey('contains U+0000 or half a character, which PostgreSQL cannot store');
}
