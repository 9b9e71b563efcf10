import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';

/** What the `aud` of tokens for the store is. */
export const AUDIENCE = 'https://plants.example';
/** The owners of tokens. */
export const SUBJECT = 'gardener';

/** A private key, with what an issuer says of the public one. */
export type SigningKey = JWK & { kid: string; alg: string };

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** One of 1024 bits. */
export function shortKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  return { ...(privateKey.export({ format: 'jwk' }) as JWK), kid: 'short', alg: 'RS256' };
}

/** What an issuer says of a key. */
export function publicJwk(key: SigningKey): SigningKey {
  const { kid, alg } = key;
  return { ...(createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }) as JWK), kid, alg, use: 'sig' };
}

/**
 * A JWT as its issuer makes them, but for these claims and parts of the header; one that is undefined is left out. Signed with a key for
 * ES256 or RS256.
 */
export function forgeJwt(issuer: string, key: SigningKey, claims: object | string = {}, header: object = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: issuer, aud: AUDIENCE, sub: SUBJECT, scope: 'plants:create', iat: now, exp: now + 600 };
  const payload = typeof claims === 'string' ? claims : JSON.stringify({ ...usual, ...claims });
  const unsigned = `${base64url(JSON.stringify({ alg: key.alg, kid: key.kid, ...header }))}.${base64url(payload)}`;
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(unsigned), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${unsigned}.${base64url(signature)}`;
}

export function base64url(content: string | Buffer): string {
  return Buffer.from(content as string).toString('base64url');
}
