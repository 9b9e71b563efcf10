import { describe, expect, it } from '@jest/globals';
import { findNearest } from './did-you-mean.js';

describe(findNearest.name, () => {
  const names = ['serve', 'migrate', 'token', 'openapi', 'ACCESS_TOKENS', 'DATABASE_URL', 'JWT_TYP', 'PORT'];

  it.each([
    ['sreve', 'serve'],
    ['srve', 'serve'],
    ['tokn', 'token'],
    ['tokens', 'token'],
    ['migarte', 'migrate'],
    ['Serve', 'serve'],
    ['ACCES_TOKENS', 'ACCESS_TOKENS'],
    ['ACESS_TOKEN', 'ACCESS_TOKENS'],
    ['DATABSE_ULR', 'DATABASE_URL'],
    ['PROT', 'PORT'],
  ])('should take %s for %s', (given, meant) => {
    expect(findNearest(given, names)).toBe(meant);
  });

  it.each(['', 'x', 'abcde', 'HOME', 'PATH', 'POT_A', 'SHELL', 'x'.repeat(10_000)])(
    'should take "%s" for nothing',
    (given) => {
      expect(findNearest(given, names)).toBeUndefined();
    },
  );
});
