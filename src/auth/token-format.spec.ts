import { describe, expect, it } from '@jest/globals';
import { ISSUED_TOKEN, makeToken, tokenDigest, tokenNameFault, withoutTokens } from './token-format.js';

/** One that was issued before, with a checksum that nobody computes any more. It stays valid. */
const KNOWN = 'plant_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL';
const KNOWN_DIGEST = 'f44ffa3e926e30d2b11e010bd06dfa76428be5bee592ff81fcd96f520fcda8cc';

describe('The format of an issued token', () => {
  it('should be that of what was made, now and before, and of nothing else', () => {
    expect([ISSUED_TOKEN.test(KNOWN), tokenDigest(KNOWN)]).toEqual([true, KNOWN_DIGEST]);
    const made = Array.from({ length: 1000 }, makeToken);
    expect([new Set(made).size, made.filter((token) => !ISSUED_TOKEN.test(token))]).toEqual([1000, []]);
    for (const other of [KNOWN.slice(0, -1), `${KNOWN}0`, `${KNOWN}\n`, `x${KNOWN}`, KNOWN.replace('1', '-')])
      expect(other).not.toMatch(ISSUED_TOKEN);
  });

  it('should keep a token, whole or cut short, from being shown or taken for a name', () => {
    const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwIn0.c2lnbmF0dXJl';
    for (const token of [KNOWN, KNOWN.slice(0, 30), jwt, jwt.slice(0, 40)])
      expect(withoutTokens(`/plants/${token}/5`)).toBe('/plants/[access token]/5');
    expect(withoutTokens('plant_5 and eyJ')).toBe('plant_5 and eyJ');
    for (const name of ['', 'x'.repeat(101), 'a b', 'zoë', '-x', '5', 'jwt:ann', 'a"b', '$(id)', 'a\u001b', KNOWN])
      expect(tokenNameFault(name)).toMatch(/^must (?!.*plant_)/);
    expect(['shop-2', 'ann@example.org', 'x'.repeat(100)].map(tokenNameFault)).toEqual(Array(3).fill(undefined));
  });
});
