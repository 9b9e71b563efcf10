import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { escapeControls } from '../../util/text.js';
import type { JwtOptions } from '../auth.options.js';
import type { Principal } from '../token-verifier.js';

export type Jose = typeof import('jose');

/** Signatures that are verified with a public key alone: with a secret one, anybody who knows the public key could sign. */
export const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
const CLOCK_TOLERANCE_S = 30;
/** The `typ` of JWTs that may be access tokens, by RFC 7519 and RFC 9068; `logout+jwt`, for example, is something else. */
const TYPES: unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];
const MAX_NAME_LENGTH = 255;

/** What a JWT must be, besides signed with the issuer's key. */
export function jwtRules({ issuer, audience, typ }: JwtOptions): JWTVerifyOptions {
  return {
    issuer,
    audience: [audience].flat(),
    algorithms: ALGORITHMS,
    ...(typ !== undefined && { typ }),
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE_S,
  };
}

/** The reason for a JWT that was valid before. */
export const EXPIRED = 'exp is over';

/**
 * What is wrong with a JWT as far as it shows without keys, in words that repeat nothing of it. Most strange tokens end here, and are
 * not worth fetching keys for.
 */
export function evidentFault(token: string, issuer: string, jose: Jose): string | undefined {
  try {
    const { alg = '', typ } = jose.decodeProtectedHeader(token);
    const { iss, exp, cnf } = jose.decodeJwt(token);
    if (!ALGORITHMS.includes(alg)) return 'alg is not an asymmetric algorithm';
    if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) return 'typ is not that of an access token';
    if (iss !== issuer) return 'iss is not the issuer';
    // RFC 7800: it is worth nothing without a proof of that key, which a bearer token does not come with.
    if (cnf !== undefined) return 'cnf binds it to a key, which is not supported';
    if (typeof exp !== 'number') return 'exp is missing or not a number';
    return Date.now() < endOf(exp) ? undefined : EXPIRED;
  } catch {
    return 'it is malformed';
  }
}

/** Milliseconds since 1970, from which on a JWT with this `exp` is not valid. */
export function endOf(exp: number): number {
  return (exp + CLOCK_TOLERANCE_S) * 1000;
}

/** The owner of a verified JWT; undefined if its `sub` cannot be stored and logged. */
export function jwtPrincipal({ sub, scope, scp }: JWTPayload): Principal | undefined {
  // Not the name of an issued token, which has no such prefix.
  const name = `jwt:${sub ?? ''}`;
  const isFit = name.length <= MAX_NAME_LENGTH && name.isWellFormed() && escapeControls(name) === name;
  if (typeof sub !== 'string' || sub === '' || !isFit) return undefined;
  const scopes = new Set([...wordsOf(scope), ...(isTexts(scp) ? scp : wordsOf(scp))]);
  return Object.freeze({
    name,
    scopes: Object.freeze([...scopes]),
    // An issuer has any number of subjects.
  });
}

/** RFC 8693, section 4.2: scopes, separated by spaces. */
function wordsOf(claim: unknown): string[] {
  return typeof claim === 'string' ? claim.split(' ').filter((word) => word !== '') : [];
}

function isTexts(claim: unknown): claim is string[] {
  return Array.isArray(claim) && claim.every((text) => typeof text === 'string');
}
