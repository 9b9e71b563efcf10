const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** 128 random bits. `crypto.randomUUID` is missing in pages that do not come by https. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @throws TypeError for a key that could not be sent as it is */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key === 'string' && KEY.test(key)) return;
  throw new TypeError('idempotencyKey must have 1 to 255 characters of ASCII, without a space at either end.');
}
