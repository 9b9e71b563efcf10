import type { JWTVerifyOptions } from 'jose';
import type { JwtOptions } from '../auth.options.js';

type Jose = typeof import('jose');

/** Signatures that are verified with a public key alone: with a secret one, who knows the public key could sign. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Seconds that the clocks of the issuer and of this machine may differ. */
const CLOCK_TOLERANCE = 30;
/** What JWTs call themselves that may be access tokens, by RFC 7519 and RFC 9068; `logout+jwt`, for example, is something else. */
const TYPES: unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];

/** What a JWT must be, besides signed with the issuer's key. */
export function jwtRules({ issuer, audience }: JwtOptions): JWTVerifyOptions {
  return {
    issuer,
    audience: [audience].flat(),
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
}

/**
 * What can be told without keys to be wrong with a JWT, in words that repeat nothing of it. Most strange tokens end here, and are
 * not worth fetching keys for.
 */
export function evidentFault(token: string, issuer: string, jose: Jose): string | undefined {
  try {
    const { alg = '', typ } = jose.decodeProtectedHeader(token);
    const { iss, exp } = jose.decodeJwt(token);
    if (!ALGORITHMS.includes(alg)) return 'alg is not an asymmetric algorithm';
    if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) return 'typ is not that of an access token';
    if (iss !== issuer) return 'iss is not the issuer';
    return typeof exp === 'number' && Date.now() < endOf(exp) ? undefined : 'exp is missing or over';
  } catch {
    return 'it is malformed';
  }
}

/** Milliseconds since 1970, from which on a JWT with this `exp` is not valid. */
export function endOf(exp: number): number {
  return (exp + CLOCK_TOLERANCE) * 1000;
}
