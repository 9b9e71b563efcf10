import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isWellFormedToken, makeToken, tokenKey, tokenNameFault, withoutTokens } from './token-format.js';

/** Made once, and good for ever: tokens that were issued have to stay valid. */
const KNOWN = 'plant_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL';
const KNOWN_DIGEST = 'f44ffa3e926e30d2b11e010bd06dfa76428be5bee592ff81fcd96f520fcda8cc';

describe(isWellFormedToken.name, () => {
  it('should know what was made, now and before', () => {
    expect(isWellFormedToken(KNOWN)).toBe(true);
    expect(tokenKey(KNOWN)).toBe(KNOWN_DIGEST);
    const tokens = Array.from({ length: 1000 }, makeToken);
    expect(new Set(tokens).size).toBe(1000);
    for (const token of tokens) expect(isWellFormedToken(token)).toBe(true);
  });

  it('should refuse a token with one wrong character, cut short or with more behind it', () => {
    const other = fc.constantFrom('0', '9', 'A', 'Z', 'a', 'z', '_', '-', '.', ' ', 'ä');
    fc.assert(
      fc.property(fc.nat(KNOWN.length - 1), other, (at, character) => {
        fc.pre(KNOWN[at] !== character);
        const isCut = isWellFormedToken(KNOWN.slice(0, at));
        return !isCut && !isWellFormedToken(KNOWN.slice(0, at) + character + KNOWN.slice(at + 1));
      }),
    );
    for (const more of ['0', '=', '\n']) expect(isWellFormedToken(KNOWN + more)).toBe(false);
  });
});

describe(tokenNameFault.name, () => {
  it.each(['gardener', 'shop-2', 'ann@example.org', 'x'.repeat(100)])('should take %s', (name) => {
    expect(tokenNameFault(name)).toBeUndefined();
  });

  it.each(['', 'x'.repeat(101), 'a b', 'zoë', '-x', '5', 'static', 'jwt:ann', KNOWN])(
    'should refuse %j, and not repeat a token',
    (name) => {
      expect(tokenNameFault(name)).toMatch(/^must /);
      expect(tokenNameFault(name)).not.toContain(KNOWN);
    },
  );
});

describe(withoutTokens.name, () => {
  it('should leave a mark in place of tokens, whole or cut short, and nothing else out', () => {
    const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwIn0.c2lnbmF0dXJl';
    for (const token of [KNOWN, KNOWN.slice(0, 30), jwt, jwt.slice(0, 40)])
      expect(withoutTokens(`/plants/${token}/5`)).toBe('/plants/[access token]/5');
    expect(withoutTokens('plant_5 and eyJ')).toBe('plant_5 and eyJ');
  });
});
