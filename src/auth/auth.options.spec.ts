import { describe, expect, it } from '@jest/globals';
import { authOptionsOf } from './auth.options.js';

const TOKEN = 'a-token-of-20-characters-or-more';
const verifier = { verify: () => undefined };
const url = 'postgresql://gardener:secret@db/plants';
const issuer = 'https://id.example.com/realms/plants';
const audience = 'plants';

describe(authOptionsOf.name, () => {
  it.each([
    { accessTokens: [TOKEN, `${TOKEN}==`], issuedTokens: undefined },
    { verifier },
    { issuedTokens: { url: 'postgresql://db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 } },
    { jwt: { issuer: `${issuer}/`, audience: ['plants', 'garden'], jwksUrl: undefined } },
    { jwt: { issuer: 'http://[::1]:8080', audience, jwksUrl: 'http://[::1]:8080/keys?version=2', typ: 'at+jwt' } },
  ])('should take %j', (options) => {
    expect(() => authOptionsOf(options)).not.toThrow();
  });

  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, 'accessTokens: is missing, should be an array of tokens; or give issuedTokens, jwt, or a verifier'],
    [{ accessTokens: [TOKEN], verifier }, 'verifier: is given in addition to accessTokens, should be left out'],
    [{ verifier: {} }, 'verifier: is an object, should be an object with a method verify'],
    [{ verifier, verifyer: {} }, 'verifyer: is no option, should be one of accessTokens, issuedTokens, jwt, verifier'],
    [{ accessTokens: [] }, 'accessTokens: is empty, should have at least one token'],
    [{ accessTokens: TOKEN }, 'accessTokens: is a string, should be an array of tokens'],
    [
      { accessTokens: [TOKEN, 1, 'hidden', `${TOKEN} hidden`, 'x'.repeat(8193)] },
      /^accessTokens: (token [2-5] of 5 is too short, too long or cannot be sent as a bearer token, should have .*){4}$/,
    ],
    [{ issuedTokens: null }, 'issuedTokens: is null, should be { url }: the database that the tokens are in'],
    [{ issuedTokens: { url, password: 'hidden' } }, 'issuedTokens.url: holds a password other than the one given'],
    [
      { issuedTokens: { uri: url, timeout: 0.5, password: 5 } },
      'issuedTokens.uri: is no option, should be one of url, password, schema, timeout',
      'issuedTokens.timeout: is 0.5, should be a whole number of milliseconds from 1 to 86400000',
      'issuedTokens.url: is undefined, should be a PostgreSQL URL such as',
      'issuedTokens.password: is 5, should be a string',
    ],
    [
      { jwt: { jwksUri: issuer } },
      'jwt.jwksUri: is no option, should be one of issuer, audience, jwksUrl, typ',
      'jwt.issuer: is missing, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is missing, should be what the "aud" of JWTs for this service has',
    ],
    [
      { jwt: { issuer: `${issuer}?hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt.issuer: is a string, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is an array, should be what',
      'jwt.jwksUrl: is a string, should be a URL',
      'jwt.typ: is a string, should be one of at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    let message = '';
    try {
      authOptionsOf(options);
    } catch (error) {
      ({ message } = error as Error);
    }
    const [first, ...found] = message.split('\n');
    expect(first).toBe('The options of PlantsAuthModule cannot be used:');
    expect(found).toEqual(
      faults.map(
        (fault) =>
          (typeof fault === 'string' ? expect.stringContaining(fault) : expect.stringMatching(fault)) as unknown,
      ),
    );
    expect(message).not.toMatch(/secret|hidden|a-token-of/);
  });
});
