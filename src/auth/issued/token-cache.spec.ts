import { describe, expect, it } from '@jest/globals';
import { TokenCache } from './token-cache.js';
import { keyOf } from './token-key.js';
import type { TokenRow } from './token-store.js';

/** The token with this number, as the database tells of it. */
function row(id: number): TokenRow {
  const digest = Buffer.alloc(32);
  digest.writeUInt32BE(id);
  return { id, digest, name: 'gardener', scopes: ['plants:create'], remaining: null };
}

describe(TokenCache.name, () => {
  it('should have 10,000 tokens at most, those that were used last', () => {
    const cache = new TokenCache();
    const has = (id: number): boolean => cache.get(keyOf(row(id).digest)) !== undefined;
    for (let id = 1; id <= 10_000; id++) cache.add(row(id), 0);
    expect(cache.size).toBe(10_000);
    expect(has(1)).toBe(true);

    cache.add(row(10_001), 0);
    expect(cache.size).toBe(10_000);
    expect([1, 2, 3, 10_001].filter(has)).toEqual([1, 3, 10_001]);

    for (let id = 10_002; id <= 25_000; id++) cache.add(row(id), 0);
    expect(cache.size).toBe(10_000);
    expect(cache.ids).toHaveLength(10_000);
    expect(Math.min(...cache.ids)).toBe(15_001);
  });
});
