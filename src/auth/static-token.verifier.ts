import { timingSafeEqual } from 'node:crypto';
import { BEARER_TOKEN, tokenDigest } from './token-format.js';
import { CREATE_PLANTS, type Principal, TokenVerifier } from './token-verifier.js';

const MIN_LENGTH = 20;
/** Well within Node's limit of 16 KiB for all headers of a request: a longer one could never be sent. */
const MAX_LENGTH = 8192;
const SENDABLE = new RegExp(`^${BEARER_TOKEN}$`);

/** Static tokens have no names of their own. */
const PRINCIPAL: Principal = Object.freeze({ name: 'static', scopes: Object.freeze([CREATE_PLANTS]) });

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
    return found.length > 0 ? PRINCIPAL : undefined;
  }
}

/** Why these cannot be access tokens, by position, without the tokens; undefined if they can. */
export function accessTokensFault(tokens: readonly string[]): string | undefined {
  const faults = tokens.flatMap((token, index) => {
    const fault = accessTokenFault(token);
    return fault === undefined ? [] : `token ${index + 1} of ${tokens.length} ${fault}`;
  });
  return faults.length > 0 ? faults.join('; ') : undefined;
}

function accessTokenFault(token: string): string | undefined {
  if (!SENDABLE.test(token))
    return 'cannot be sent as a bearer token, should be made of letters, digits and -._~+/ alone, with = only at its end';
  if (token.length < MIN_LENGTH) return `is too short, should have at least ${MIN_LENGTH} characters`;
  if (token.length > MAX_LENGTH) return `is too long, should have at most ${MAX_LENGTH} characters`;
  return undefined;
}
