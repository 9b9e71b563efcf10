import { describe, expect, it } from '@jest/globals';
import { AuthModule, verifierOf } from './auth.module.js';
import { assertAsyncAuthOptions } from './auth-module.options.js';
import { AuthModuleOptionsError } from './auth.options.js';
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
    [
      'no options',
      undefined,
      /^accessTokens: is missing, should be an array of tokens; or give issuedTokens, jwt, or a verifier$/m,
    ],
    ['nothing', {}, /^accessTokens: is missing/m],
    ['both', { accessTokens: [TOKEN], verifier: new NobodyVerifier() }, /^verifier: stands beside accessTokens/m],
    ['a verifier that is none', { verifier: {} }, /^verifier: is an object, should be .* with a method verify/m],
    ['no verifier', { verifier: null }, /^verifier: is null, should be/m],
    [
      'a name with a typo',
      { verifyer: {} },
      /^verifyer: is no option, should be one of accessTokens, issuedTokens, jwt, verifier, wrongTokenLimit, rateLimit$/m,
    ],
    ['no token', { accessTokens: [] }, /^accessTokens: is empty, should have at least one token/m],
    ['a token alone', { accessTokens: TOKEN }, /^accessTokens: is a string, should be an array of strings$/m],
    ['numbers', { accessTokens: [TOKEN, 1] }, /^accessTokens: token 2 is 1, should be a string$/m],
    ['a short token', { accessTokens: [TOKEN, 'secret'] }, /^accessTokens: token 2 of 2 is too short/m],
    ['a token with a blank', { accessTokens: [`${TOKEN} x`] }, /token 1 of 1 cannot be sent as a bearer token/],
  ])('should refuse %s, and repeat no token', (_, options, message) => {
    const verify = (): unknown => verifierOf(options);
    expect(verify).toThrow(AuthModuleOptionsError);
    expect(verify).toThrow(message);
    expect(verify).not.toThrow(/secret|a-token-of/);
  });
});

describe(assertAsyncAuthOptions.name, () => {
  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /^useFactory: is missing, should be a function that returns the options$/m],
    ['a name with a typo', { usefactory: () => ({}) }, /^usefactory: is no option, should be one of useFactory/m],
    ['options beside the factory', { useFactory: () => ({}), verifier: {} }, /^verifier: is not read here/m],
  ])('should refuse %s', (_, options, message) => {
    expect(() => AuthModule.forRootAsync(options as never)).toThrow(AuthModuleOptionsError);
    expect(() => AuthModule.forRootAsync(options as never)).toThrow(message);
  });
});

describe(AuthModule.name, () => {
  it('should take no options for none', () => {
    expect(() => AuthModule.forRoot(undefined as never)).not.toThrow();
  });
});
