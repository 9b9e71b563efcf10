import { hash } from 'node:crypto';
import type { JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../token-verifier.js';

/** Characters of the tokens that are remembered, together: about ten thousand of a usual length. */
const REMEMBERED_LENGTH = 8_388_608;

interface Remembered {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/**
 * The keys that an issuer had at one time, and whom JWTs stand for that were verified with them. With other keys comes another
 * set: what was verified with a key that is gone is forgotten with it.
 */
export class KeySet {
  private readonly remembered = new LRUCache<string, Remembered>({ maxSize: REMEMBERED_LENGTH });

  constructor(
    /** The document they come from. */
    readonly source: string,
    readonly find: JWTVerifyGetKey,
  ) {}

  remember(token: string, principal: Principal, until: number): void {
    this.remembered.set(digest(token), { principal, until }, { size: token.length });
  }

  recall(token: string): Principal | undefined {
    const found = this.remembered.get(digest(token));
    return found !== undefined && Date.now() < found.until ? found.principal : undefined;
  }
}

/** Not the token itself: a dump of the memory should hold as few as possible. */
function digest(token: string): string {
  return hash('sha256', token, 'base64');
}
