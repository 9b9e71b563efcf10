import { timingSafeEqual } from 'node:crypto';
import { CREATE_PLANTS } from './scopes.js';
import { BEARER_TOKEN, tokenDigest } from './token-format.js';
import { type Principal, TokenVerifier } from './token-verifier.js';

/** Node.js reads at most 16 KiB of headers, so a much longer token could never be sent. */
const ACCESS_TOKEN = new RegExp(`^(?=.{20,8192}$)${BEARER_TOKEN}$`);
const SHOULD = 'should have 20 to 8192 letters, digits and -._~+/ alone, with = only at its end';

/** All static tokens share this name, as they have none of their own. */
const STATIC_PRINCIPAL: Principal = Object.freeze({ name: 'static', scopes: Object.freeze([CREATE_PLANTS]) });

export class StaticTokenVerifier extends TokenVerifier {
  private readonly digests: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    super();
    this.digests = tokens.map((token) => Buffer.from(tokenDigest(token)));
  }

  verify(token: string): Principal | undefined {
    const candidate = Buffer.from(tokenDigest(token));
    // All digests have the same length and each is compared, so the time says nothing about a token.
    const found = this.digests.filter((digest) => timingSafeEqual(digest, candidate));
    return found.length > 0 ? STATIC_PRINCIPAL : undefined;
  }
}

/** Explains why these are no access tokens, by position and without the tokens; undefined if they are. */
export function accessTokensFault(tokens: readonly unknown[]): string | undefined {
  const faults = tokens.flatMap((token, index) =>
    typeof token === 'string' && ACCESS_TOKEN.test(token)
      ? []
      : `token ${index + 1} of ${tokens.length} is too short, too long or cannot be sent as a bearer token, ${SHOULD}`,
  );
  return faults.length > 0 ? faults.join('; ') : undefined;
}
