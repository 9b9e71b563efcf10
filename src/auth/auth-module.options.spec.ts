import { describe, expect, it } from '@jest/globals';
import { type AuthModuleOptions, verifierOf } from './auth-module.options.js';
import { AuthModuleOptionsError } from './auth-module-options.error.js';
import { TokenVerifier } from './token-verifier.js';

const TOKEN = 'a-token-of-20-characters-or-more';

class NobodyVerifier extends TokenVerifier {
  verify(): undefined {
    return undefined;
  }
}

describe(verifierOf.name, () => {
  it('should accept the tokens that were given, and no others', async () => {
    const verifier = verifierOf({ accessTokens: [TOKEN, `${TOKEN}-2`] });
    expect(await verifier.verify(`${TOKEN}-2`)).toMatchObject({ scopes: ['plants:create'] });
    expect(await verifier.verify(`${TOKEN}-3`)).toBeUndefined();
  });

  it('should leave it to a verifier that was given', () => {
    const verifier = new NobodyVerifier();
    expect(verifierOf({ verifier })).toBe(verifier);
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /`accessTokens` or a `verifier`, and was given neither/],
    ['both', { accessTokens: [TOKEN], verifier: new NobodyVerifier() }, /given both: leave one out/],
    ['a verifier that is none', { verifier: {} }, /`verifier` .* a method `verify`/],
    ['a token alone', { accessTokens: TOKEN }, /`accessTokens` .* an array of strings/],
    ['numbers', { accessTokens: [1] }, /`accessTokens` .* an array of strings/],
    ['a short token', { accessTokens: [TOKEN, 'secret'] }, /`accessTokens` .* token 2 of 2 is too short/],
    ['a token with a blank', { accessTokens: [`${TOKEN} x`] }, /token 1 of 1 cannot be sent as a bearer token/],
  ])('should refuse %s, and repeat no token', (_, options, message) => {
    const verify = (): unknown => verifierOf(options as AuthModuleOptions);
    expect(verify).toThrow(AuthModuleOptionsError);
    expect(verify).toThrow(message);
    expect(verify).not.toThrow(/secret|a-token-of/);
  });
});
