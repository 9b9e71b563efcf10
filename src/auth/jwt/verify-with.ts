import type { CryptoKey, JWTPayload, JWTVerifyOptions } from 'jose';
import type { KeySet } from './key-set.js';

/** Verifies a JWT with the one of these keys that it was signed with. Rejects as `jwtVerify` of jose does. */
export async function verifyWith({ find }: KeySet, token: string, rules: JWTVerifyOptions): Promise<JWTPayload> {
  const { errors, jwtVerify } = await import('jose');
  try {
    return (await jwtVerify(token, find, rules)).payload;
  } catch (error) {
    // It does not name its key.
    if (error instanceof errors.JWKSMultipleMatchingKeys) return await verifyWithEach(error, token, rules);
    throw error;
  }
}

async function verifyWithEach(
  keys: AsyncIterable<CryptoKey>,
  token: string,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  const { errors, jwtVerify } = await import('jose');
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, rules)).payload;
    } catch (error) {
      // Another key, or one that can't be used, such as a short one.
      if (error instanceof errors.JWSSignatureVerificationFailed || !(error instanceof errors.JOSEError)) continue;
      throw error;
    }
  }
  throw new errors.JWKSNoMatchingKey();
}
