import { describe, expect, it } from '@jest/globals';
import { makeToken } from './token-form.js';
import { holdsToken, withoutTokens } from './without-tokens.js';

describe(withoutTokens.name, () => {
  const token = makeToken();

  it.each([
    token,
    token.slice(0, 30),
    `${token}x`,
    'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl',
    'eyJhbGciOiJub25lIn0.eyJ9.',
  ])('should take %s out of any text, however often it is in there', (secret) => {
    expect(withoutTokens(`no "--${secret}", ${secret}!`)).toBe('no "--[access token]", [access token]!');
    expect(holdsToken(` ${secret}`)).toBe(true);
  });

  it.each(['plant_rose', 'plant-store token', 'a plant_'])('should leave %s', (text) => {
    expect(withoutTokens(text)).toBe(text);
    expect(holdsToken(text)).toBe(false);
  });
});
