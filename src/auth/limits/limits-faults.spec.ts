import { describe, expect, it } from '@jest/globals';
import { AuthModuleOptionsError } from '../auth.options.js';
import { verifierOf } from '../auth.module.js';
import { limitsFaults } from './limits-faults.js';

describe(limitsFaults.name, () => {
  it.each([
    [{}],
    [{ wrongTokenLimit: undefined, rateLimit: undefined }],
    [{ wrongTokenLimit: 0, rateLimit: 0 }],
    [{ wrongTokenLimit: 1, rateLimit: 1_000_000_000 }],
  ])('should find none in %j', (options) => {
    expect(limitsFaults(options)).toEqual([]);
  });

  it.each([-1, 1.5, NaN, Infinity, 1_000_000_001, '100', null, true])('should refuse %p for either limit', (limit) => {
    expect(limitsFaults({ wrongTokenLimit: limit, rateLimit: limit })).toEqual([
      expect.stringMatching(/^wrongTokenLimit: is .+, should be a whole number from 0 to 1000000000$/),
      expect.stringMatching(/^rateLimit: is .+, should be a whole number from 0 to 1000000000$/),
    ]);
  });

  it('should be told with the other faults of the module', () => {
    const verify = (): unknown => verifierOf({ accessTokens: [], rateLimit: '1' });
    expect(verify).toThrow(AuthModuleOptionsError);
    expect(verify).toThrow(/^accessTokens: is empty[^]+^rateLimit: is a string/m);
  });
});
