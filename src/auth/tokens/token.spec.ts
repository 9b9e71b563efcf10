import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  holdsToken,
  isWellFormedToken,
  makeToken,
  resemblesToken,
  tokenDigest,
  tokenNameFault,
  withoutTokens,
} from './token.js';

/** Made once, and good for ever: tokens that were issued have to stay valid. */
const KNOWN = 'plant_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL';
const KNOWN_DIGEST = 'f44ffa3e926e30d2b11e010bd06dfa76428be5bee592ff81fcd96f520fcda8cc';
const PREFIX = 'plant_';
const ALPHABET = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const LENGTH = 44;

const tokens = fc.constant(undefined).map(makeToken);

describe(makeToken.name, () => {
  it('should make tokens of one length and form, that a double click selects and a bearer header takes', () => {
    for (let i = 0; i < 1000; i++) expect(makeToken()).toMatch(/^plant_[0-9A-Za-z]{38}$/);
  });

  it('should never make the same one', () => {
    expect(new Set(Array.from({ length: 10_000 }, makeToken)).size).toBe(10_000);
  });

  it('should use every character in every place of chance', () => {
    const seen = Array.from({ length: 32 }, () => new Set<string>());
    for (let i = 0; i < 5000; i++) {
      const random = makeToken().slice(PREFIX.length, -6);
      seen.forEach((characters, place) => characters.add(random[place] ?? ''));
    }
    // Each is missing somewhere once in 10^32 runs.
    for (const characters of seen) expect([...characters].sort()).toEqual(ALPHABET);
  });
});

describe(isWellFormedToken.name, () => {
  it('should know what was made, now and before', () => {
    expect(isWellFormedToken(KNOWN)).toBe(true);
    fc.assert(fc.property(tokens, (token) => isWellFormedToken(token) && resemblesToken(token)));
  });

  it('should refuse a token with one wrong character', () => {
    fc.assert(
      fc.property(
        tokens,
        fc.nat(LENGTH - 1),
        fc.constantFrom(...ALPHABET, '_', '-', '.', ' ', 'ä'),
        (token, at, other) => {
          fc.pre(token[at] !== other);
          return !isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('should refuse a token that is cut short or goes on', () => {
    fc.assert(fc.property(tokens, fc.nat(LENGTH - 1), (token, length) => !isWellFormedToken(token.slice(0, length))));
    for (const more of ['0', '=', '\n', ' ', KNOWN]) {
      expect(isWellFormedToken(KNOWN + more)).toBe(false);
      expect(isWellFormedToken(more + KNOWN)).toBe(false);
    }
  });

  it('should refuse a checksum that was made up', () => {
    const random = KNOWN.slice(0, -6);
    for (const forged of ['000000', 'zzzzzz', '1ggZdM', '4gfFC3'])
      expect(isWellFormedToken(random + forged)).toBe(false);
  });

  it.each([[''], ['plant_'], [KNOWN.toLowerCase()], [KNOWN.toUpperCase()], [`Plant_${KNOWN.slice(6)}`]])(
    'should refuse %j',
    (text) => {
      expect(isWellFormedToken(text)).toBe(false);
    },
  );

  it('should refuse any text quickly', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => !isWellFormedToken(text)));
    expect(isWellFormedToken(`plant_${'a'.repeat(1_000_000)}`)).toBe(false);
  });
});

describe(resemblesToken.name, () => {
  it.each([[`plant_${'-'.repeat(38)}`], [`${KNOWN.slice(0, -1)}!`], ['plant_'], [`${KNOWN}0`]])(
    'should take %j for a try',
    (text) => {
      expect(resemblesToken(text)).toBe(true);
    },
  );

  it.each([[''], [KNOWN.slice(1)], [`x${KNOWN.slice(1)}`], ['eyJhbGciOiJSUzI1NiJ9.e30.AAAA']])(
    'should leave %j to others',
    (text) => {
      expect(resemblesToken(text)).toBe(false);
    },
  );
});

describe(tokenDigest.name, () => {
  it('should be the SHA-256 of the token', () => {
    expect(tokenDigest(KNOWN).toString('hex')).toBe(KNOWN_DIGEST);
  });
});

describe(tokenNameFault.name, () => {
  it.each([
    'c',
    'ci',
    'CI-2',
    '7up',
    '@team/deploy:prod+eu',
    'a.gardener@example.com',
    '_',
    'plant_rose',
    'x'.repeat(100),
  ])('should take %s', (name) => {
    expect(tokenNameFault(name)).toBeUndefined();
  });

  it.each([
    ['', 'must have 1 to 100 characters'],
    ['x'.repeat(101), 'must have 1 to 100 characters'],
    [' ci', 'must have 1 to 100 characters'],
    ['ci\n', 'must have 1 to 100 characters'],
    ['my ci', 'must have 1 to 100 characters'],
    ['ci\u0000', 'must have 1 to 100 characters'],
    ['ci\u001b[31m', 'must have 1 to 100 characters'],
    ["ci'; DROP TABLE plants; --", 'must have 1 to 100 characters'],
    ['gärtner', 'must have 1 to 100 characters'],
    ['-ci', 'not begin with -'],
    ['12', 'must not be made of digits alone'],
    ['static', 'must not be static or jwt'],
    ['JWT', 'must not be static or jwt'],
    ['jwt:alice', 'must not be static or jwt, nor begin with jwt:'],
    ['JWT:alice', 'nor begin with jwt:'],
  ])('should refuse %j and say why', (name, reason) => {
    expect(tokenNameFault(name)).toContain(reason);
  });

  it('should refuse a token, also one that was cut short, and not repeat it', () => {
    const token = makeToken();
    for (const name of [token, token.slice(0, -1), `${token}x`, `my-${token}`]) {
      const fault = tokenNameFault(name);
      expect(fault).toContain('must not look like an access token');
      expect(fault).not.toContain(token.slice(6, 20));
    }
  });
});

describe(withoutTokens.name, () => {
  const token = makeToken();

  it.each([
    token,
    token.slice(0, 30),
    `${token}x`,
    'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl',
    'eyJhbGciOiJub25lIn0.eyJ9.',
    'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOi',
  ])('should take %s out of any text, however often it is in there', (secret) => {
    expect(withoutTokens(`no "--${secret}", ${secret}!`)).toBe('no "--[access token]", [access token]!');
    expect(holdsToken(` ${secret}`)).toBe(true);
  });

  it.each(['plant_rose', 'plant-store token', 'a plant_'])('should leave %s', (text) => {
    expect(withoutTokens(text)).toBe(text);
    expect(holdsToken(text)).toBe(false);
  });
});
