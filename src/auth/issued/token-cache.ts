import { LRUCache } from 'lru-cache';
import { IssuedToken } from './issued-token.js';
import { keyOf } from './token-key.js';
import type { TokenRow } from './token-store.js';

/** Tokens that are kept at most; of more, those that were used last. */
const MOST_TOKENS = 10_000;
/** Milliseconds after its last use that a token is forgotten: an hour. */
const UNUSED_MS = 3_600_000;

/** The tokens that are known to be right. Only what the database has gets in, so nobody can fill it with guesses. */
export class TokenCache {
  private readonly tokens = new LRUCache<string, IssuedToken>({ max: MOST_TOKENS });

  get size(): number {
    return this.tokens.size;
  }

  get ids(): number[] {
    return Array.from(this.tokens.values(), ({ id }) => id);
  }

  get(key: string): IssuedToken | undefined {
    return this.tokens.get(key);
  }

  /** Nothing, where the token has expired. */
  add(row: TokenRow, askedAt: number): IssuedToken | undefined {
    if (row.remaining !== null && row.remaining <= 0) return undefined;
    const token = new IssuedToken(row, askedAt);
    this.tokens.set(keyOf(row.digest), token);
    return token;
  }

  /**
   * Takes over what the database says of all that are here, and forgets those of which it says nothing. Those that have expired stay:
   * they are refused with no query. Returns what it has forgotten.
   */
  confirm(rows: readonly TokenRow[], askedAt: number): IssuedToken[] {
    const forgotten: IssuedToken[] = [];
    const left = new Map(rows.map((row) => [keyOf(row.digest), row]));
    for (const [key, token] of [...this.tokens.entries()]) {
      const row = left.get(key);
      if (row !== undefined && askedAt - token.usedAt <= UNUSED_MS) {
        token.confirm(row, askedAt);
        continue;
      }
      this.tokens.delete(key);
      forgotten.push(token);
    }
    return forgotten;
  }

  all(): Iterable<IssuedToken> {
    return this.tokens.values();
  }
}
