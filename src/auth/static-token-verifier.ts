import { hash, timingSafeEqual } from 'node:crypto';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

const PRINCIPAL: Principal = Object.freeze({ name: 'static', scopes: Object.freeze(['plants:create']) });

/** Accepts the tokens that the configuration lists. */
export class StaticTokenVerifier extends TokenVerifier {
  private readonly digests: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    super();
    this.digests = tokens.map(digest);
  }

  verify(token: string): Principal | undefined {
    const candidate = digest(token);
    let valid = false;
    // Digests are of one length, and every one is compared, so the time taken says nothing about any token.
    for (const known of this.digests) valid = timingSafeEqual(known, candidate) || valid;
    return valid ? PRINCIPAL : undefined;
  }
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
