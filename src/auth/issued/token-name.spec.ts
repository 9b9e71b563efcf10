import { describe, expect, it } from '@jest/globals';
import { makeToken } from './token-form.js';
import { tokenNameFault } from './token-name.js';

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
    ['static', 'must not be static, jwt, other'],
    ['JWT', 'must not be static, jwt, other'],
    ['other', 'must not be static, jwt, other'],
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
