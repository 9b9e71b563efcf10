import { describe, expect, it } from '@jest/globals';
import { faultsOf as faultsOfError } from '../../test/support/service/configuration-refusal.js';
import { PlantsAuthModule } from './auth.module.js';
import { authOptionsOf } from './auth.options.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { TokenVerifier } from './token-verifier.js';

const TOKEN = 'a-token-of-20-characters-or-more';

class NobodyVerifier extends TokenVerifier {
  verify(): undefined {
    return undefined;
  }
}

const faultsOf = (options: unknown): string[] => faultsOfError('PlantsAuthModule', () => authOptionsOf(options));

describe(StaticTokenVerifier.name, () => {
  it('should accept the tokens that were given, and no others', () => {
    const verifier = new StaticTokenVerifier([TOKEN, `${TOKEN}-2`]);
    expect(verifier.verify(`${TOKEN}-2`)).toEqual({ name: 'static', scopes: ['plants:create'] });
    expect(verifier.verify(`${TOKEN}-3`)).toBeUndefined();
  });
});

describe(authOptionsOf.name, () => {
  it.each<[string, unknown, RegExp]>([
    [
      'no options',
      undefined,
      /^accessTokens: is missing, should be an array of tokens; or give issuedTokens, jwt, or a verifier$/m,
    ],
    ['nothing', {}, /^accessTokens: is missing/m],
    [
      'both',
      { accessTokens: [TOKEN], verifier: new NobodyVerifier() },
      /^verifier: is given in addition to accessTokens, should be left out/m,
    ],
    ['a verifier without verify()', { verifier: {} }, /^verifier: is an object, should be .* with a method verify/m],
    ['no verifier', { verifier: null }, /^verifier: is null, should be/m],
    [
      'a name with a typo',
      { verifyer: {} },
      /^verifyer: is no option, should be one of accessTokens, issuedTokens, jwt, verifier$/m,
    ],
    ['no token', { accessTokens: [] }, /^accessTokens: is empty, should have at least one token/m],
    ['a token alone', { accessTokens: TOKEN }, /^accessTokens: is a string, should be an array of strings$/m],
    ['numbers', { accessTokens: [TOKEN, 1] }, /^accessTokens: token 2 is 1, should be a string$/m],
    ['a short token', { accessTokens: [TOKEN, 'secret'] }, /^accessTokens: token 2 of 2 is too short/m],
    ['a token with a blank', { accessTokens: [`${TOKEN} x`] }, /token 1 of 1 cannot be sent as a bearer token/],
  ])('should refuse %s, and repeat no token', (_, options, message) => {
    const check = (): unknown => authOptionsOf(options);
    expect(check).toThrow(/^The options of PlantsAuthModule cannot be used:/);
    expect(check).toThrow(message);
    expect(check).not.toThrow(/secret|a-token-of/);
  });
});

describe(PlantsAuthModule.name, () => {
  it('should take no options for none', () => {
    expect(() => PlantsAuthModule.forRoot(undefined as never)).not.toThrow();
  });
});

describe('issuedTokens', () => {
  const url = 'postgresql://gardener:secret@db/plants';

  it.each([
    [{ url }],
    [{ url: 'postgresql://gardener@db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 }],
    [{ url: `${url}?schema=green`, schema: 'red' }],
    [{ url, password: undefined, schema: undefined, timeout: undefined }],
  ])('should find none in %j', (options) => {
    expect(faultsOf({ issuedTokens: options })).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [null, 'issuedTokens: is null, should be { url }: the database that the tokens are in'],
    [url, 'issuedTokens: is a string, should be { url }'],
    [[url], 'issuedTokens: is an array, should be { url }'],
    [{}, 'issuedTokens.url: is undefined, should be a PostgreSQL URL such as'],
    [{ url: '' }, 'issuedTokens.url: is empty, should be a PostgreSQL URL such as'],
    [{ url: null }, 'issuedTokens.url: is null'],
    [{ url: 5 }, 'issuedTokens.url: is 5, should be a PostgreSQL URL'],
    [{ url: 'mysql://root:secret@db/plants' }, 'issuedTokens.url: must be a PostgreSQL URL such as'],
    [{ url, password: 'hidden' }, 'issuedTokens.url: holds a password other than the one given separately'],
    [{ url, password: 5 }, 'issuedTokens.password: is 5, should be a string'],
    [{ url, schema: '' }, 'issuedTokens.schema: must name a schema of 1 to 63 bytes'],
    [{ url, schema: 5 }, 'issuedTokens.schema: is 5, should be the name of a schema'],
    [{ url, timeout: 0 }, 'issuedTokens.timeout: is 0, should be a whole number of milliseconds from 1 to 86400000'],
    [{ url, timeout: '5' }, 'issuedTokens.timeout: is a string, should be a whole number'],
    [{ url, size: 5 }, 'issuedTokens.size: is no option, should be one of url, password, schema, timeout'],
    [
      { uri: url, timeout: 0.5 },
      'issuedTokens.uri: is no option',
      'issuedTokens.url: is undefined',
      'issuedTokens.timeout: is 0.5',
    ],
  ])('should tell of every fault of %j, and of no secret', (options, ...faults) => {
    const found = faultsOf({ issuedTokens: options });
    expect(found).toHaveLength(faults.length);
    found.forEach((fault, index) => {
      expect(fault).toContain(faults[index]);
    });
    expect(found.join()).not.toMatch(/secret|hidden/);
  });

  it('should keep a module from being made', () => {
    const options = { issuedTokens: { url: 'nowhere' } };
    expect(() => authOptionsOf(options)).toThrow(/^The options of PlantsAuthModule cannot be used:/);
    expect(() => authOptionsOf(options)).toThrow(/^issuedTokens\.url: must be a PostgreSQL URL/m);
    expect(() => authOptionsOf({ issuedTokens: { url } })).not.toThrow();
    expect(() => PlantsAuthModule.forRoot({ issuedTokens: { url } })).not.toThrow();
  });
});

describe('jwt', () => {
  const issuer = 'https://id.example.com/realms/plants';
  const audience = 'plants';

  it.each([
    { issuer, audience },
    { issuer: `${issuer}/`, audience: ['plants', 'garden'], jwksUrl: undefined },
    {
      issuer: 'http://127.0.0.1:8080',
      audience: [audience],
      jwksUrl: 'http://127.0.0.1:8080/keys?version=2',
      typ: 'at+jwt',
    },
  ])('should find none in %j', (options) => {
    expect(faultsOf({ jwt: options })).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [null, 'jwt: is null, should be { issuer, audience }'],
    [issuer, 'jwt: is a string, should be { issuer, audience }'],
    [[issuer], 'jwt: is an array, should be { issuer, audience }'],
    [
      {},
      'jwt.issuer: is missing, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is missing, should be what the "aud"',
    ],
    [
      { issuer, audience, jwksUri: issuer },
      'jwt.jwksUri: is no option, should be one of issuer, audience, jwksUrl, typ',
    ],
    [{ issuer: 'hidden.example.com', audience }, 'jwt.issuer: is a string, should be a URL such as https://'],
    [{ issuer: `${issuer}?hidden`, audience }, 'jwt.issuer: is a string, should be a URL'],
    [{ issuer: new URL(issuer), audience }, 'jwt.issuer: is an object, should be a URL'],
    [{ issuer, audience: '' }, 'jwt.audience: is a string, should be what the "aud" of JWTs for this service has'],
    [{ issuer, audience: [] }, 'jwt.audience: is an array, should be what'],
    [{ issuer, audience: ['plants', 5] }, 'jwt.audience: is an array, should be what'],
    [{ issuer, audience: ['plants', ''] }, 'jwt.audience: is an array, should be what'],
    [{ issuer, audience: 5 }, 'jwt.audience: is 5'],
    [{ issuer, audience: null }, 'jwt.audience: is null'],
    [
      { issuer, audience, jwksUrl: 'https://user:hidden@id.example.com' },
      'jwt.jwksUrl: holds a user or password, should be a URL such as https://id.example.com, without user or fragment',
    ],
    [{ issuer, audience, jwksUrl: null }, 'jwt.jwksUrl: is null'],
    [{ issuer, audience, typ: 'hidden+jwt' }, 'jwt.typ: is a string, should be one of at+jwt'],
  ])('should tell what is wrong in %j, and repeat no text', (options, ...faults) => {
    const found = faultsOf({ jwt: options });
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toContain('hidden');
  });
});
