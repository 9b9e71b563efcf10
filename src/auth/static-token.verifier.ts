import { timingSafeEqual } from 'node:crypto';
import { BEARER_TOKEN, tokenDigest } from './token-format.js';
import { CREATE_PLANTS, type Principal, TokenVerifier } from './token-verifier.js';

/** 8192 characters are well within Node's limit of 16 KiB for all headers of a request: a longer one could never be sent. */
const ACCESS_TOKEN = new RegExp(`^(?=.{20,8192}$)${BEARER_TOKEN}$`);
const SHOULD = 'should have 20 to 8192 letters, digits and -._~+/ alone, with = only at its end';

/** Static tokens have no names of their own. */
const STATIC_PRINCIPAL: Principal = Object.freeze({ name: 'static', scopes: Object.freeze([CREATE_PLANTS]) });

/** Accepts the tokens that the configuration lists. */
export class StaticTokenVerifier extends TokenVerifier {
  private readonly digests: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    super();
    this.digests = tokens.map(tokenDigest);
  }

  verify(token: string): Principal | undefined {
    const candidate = tokenDigest(token);
    // Digests are of one length, and every one is compared, so the time taken says nothing about any token.
    const found = this.digests.filter((digest) => timingSafeEqual(digest, candidate));
    return found.length > 0 ? STATIC_PRINCIPAL : undefined;
  }
}

/** Why these cannot be access tokens, by position, without the tokens; undefined if they can. */
export function accessTokensFault(tokens: readonly unknown[]): string | undefined {
  const faults = tokens.flatMap((token, index) =>
    typeof token === 'string' && ACCESS_TOKEN.test(token)
      ? []
      : `token ${index + 1} of ${tokens.length} is too short, too long or cannot be sent as a bearer token, ${SHOULD}`,
  );
  return faults.length > 0 ? faults.join('; ') : undefined;
}
