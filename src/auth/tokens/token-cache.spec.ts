import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TokenCache } from './token-cache.js';
import type { TokenRow } from './token-reader.js';
import { keyOf } from './token.js';

/** The token with this number, as the database returns it. */
function row(id: number, fields: Partial<TokenRow> = {}): TokenRow {
  const digest = Buffer.alloc(32);
  digest.writeUInt32BE(id);
  const ends = { remaining: null, isRevoked: false };
  return { id, digest, name: 'gardener', scopes: ['plants:create'], ...ends, ...fields };
}

const key = (id: number): string => keyOf(row(id).digest);
const ids = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

describe(TokenCache.name, () => {
  let cache: TokenCache;

  beforeEach(() => {
    jest.useFakeTimers();
    cache = new TokenCache();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const find = (...found: number[]): void => {
    cache.update(
      found.map(key),
      found.map((id) => row(id)),
      performance.now(),
    );
  };
  const miss = (...missed: number[]): void => {
    cache.update(missed.map(key), [], performance.now());
  };
  const isKnown = (id: number): boolean => cache.get(key(id)) !== undefined;

  it('should know 10,000 tokens at most, those that were used last', () => {
    find(...ids(1, 10_000));
    expect(cache.takeUsed()).toHaveLength(10_000);
    expect(isKnown(1)).toBe(true);

    find(10_001);
    expect(cache.takeUsed()).toHaveLength(10_000);
    expect([1, 2, 3, 10_001].filter(isKnown)).toEqual([1, 3, 10_001]);

    find(...ids(10_002, 25_000));
    expect(cache.takeUsed()).toHaveLength(10_000);
    expect(ids(1, 25_000).filter(isKnown)).toEqual(ids(15_001, 25_000));
  });

  it('should not count a confirmation as a use', () => {
    find(...ids(1, 10_000));
    find(1);
    find(10_001);
    expect(isKnown(1)).toBe(false);
  });

  it('should keep known tokens however many unknown ones come', () => {
    find(1);
    miss(...ids(2, 30_000));
    expect(isKnown(1)).toBe(true);
  });

  it('should forget a known token that is gone or has expired, and return its use once', () => {
    find(1, 2, 3);
    const [first, second, third] = [1, 2, 3].map((id) => cache.get(key(id)));
    const rows = [row(1, { remaining: -1 }), row(3)];
    const refused = cache.update([1, 2, 3, 4].map(key), rows, performance.now());
    expect([...refused]).toEqual([[key(1), { name: 'gardener', reason: 'expired' }]]);
    expect([1, 2, 3, 4].filter(isKnown)).toEqual([3]);
    expect(cache.takeUsed()).toEqual([first, second, third]);
    expect(cache.takeUsed()).toEqual([third]);
  });

  it('should keep the principal until the row says something else', () => {
    find(1);
    const token = cache.get(key(1));
    const principal = token?.principal;
    find(1);
    expect(cache.get(key(1))?.principal).toBe(principal);
    cache.update([key(1)], [row(1, { scopes: [] })], performance.now());
    expect(cache.get(key(1))).toBe(token);
    expect(token?.principal).toEqual({ ...principal, scopes: [] });
    expect(principal?.scopes).toEqual(['plants:create']);
  });

  it('should list the tokens that were used since a moment', () => {
    find(1, 2);
    jest.advanceTimersByTime(1000);
    const now = performance.now();
    expect(cache.get(key(2))?.use(now)).toMatchObject({ name: 'gardener' });
    expect(cache.usedSince(now)).toEqual([[key(2), cache.get(key(2))]]);
    expect(cache.usedSince(now - 1000)).toHaveLength(2);
  });
});
