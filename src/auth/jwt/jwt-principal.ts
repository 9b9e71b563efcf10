import type { JWTPayload } from 'jose';
import type { Principal } from '../token-verifier.js';

/** OpenID Connect Core 1.0, section 2, has no longer ones. */
const LONGEST_SUBJECT = 255;
/** What a log should not show, and half a surrogate pair, which PostgreSQL can't store, as it can't U+0000. */
const UNFIT = /[\p{Cc}\p{Cs}]/u;

/** Whom the claims of a verified JWT stand for; nobody, where their `sub` is none that can be stored and logged. */
export function jwtPrincipal({ sub, scope, scp }: JWTPayload): Principal | undefined {
  if (typeof sub !== 'string' || sub === '' || sub.length > LONGEST_SUBJECT || UNFIT.test(sub)) return undefined;
  const scopes = new Set([...wordsOf(scope), ...(isTexts(scp) ? scp : wordsOf(scp))]);
  return Object.freeze({
    name: sub,
    scopes: Object.freeze([...scopes]),
    // Static and issued tokens may have the same name.
    limitKey: `jwt:${sub}`,
    // An issuer has any number of subjects.
    metricLabel: 'jwt',
  });
}

/** RFC 8693, section 4.2: scopes, separated by spaces. */
function wordsOf(claim: unknown): string[] {
  return typeof claim === 'string' ? claim.split(' ').filter((word) => word !== '') : [];
}

function isTexts(claim: unknown): claim is string[] {
  return Array.isArray(claim) && claim.every((text) => typeof text === 'string');
}
