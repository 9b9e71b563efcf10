import { describe, expect, it } from '@jest/globals';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { faultsOf as faultsOfError } from '../../test/support/http/refusal.js';
import { PlantsAuthModule } from './auth.module.js';
import { authOptionsOf } from './auth.options.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';

const TOKEN = 'a-token-of-20-characters-or-more';
const verifier = { verify: () => undefined };
const url = 'postgresql://gardener:secret@db/plants';
const issuer = 'https://id.example.com/realms/plants';
const audience = 'plants';

const faultsOf = (options: unknown): string[] => faultsOfError('PlantsAuthModule', () => authOptionsOf(options));

describe(PlantsAuthModule.name, () => {
  it.each([
    { accessTokens: [TOKEN, `${TOKEN}==`], issuedTokens: undefined },
    { verifier },
    { issuedTokens: { url: 'postgresql://db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 } },
    { jwt: { issuer: `${issuer}/`, audience: ['plants', 'garden'], jwksUrl: undefined } },
    { jwt: { issuer: 'http://[::1]:8080', audience, jwksUrl: 'http://[::1]:8080/keys?version=2', typ: 'at+jwt' } },
  ])('should take %j', (options) => {
    expect(faultsOf(options)).toEqual([]);
  });

  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, /accessTokens: is missing, .* at least one token; or give issuedTokens, jwt, or a verifier$/],
    [{ accessTokens: [] }, 'accessTokens: is empty, should be an array of at least one token'],
    [{ accessTokens: TOKEN }, 'accessTokens: is a string, should be an array of at least one token'],
    [{ issuedTokens: null }, 'issuedTokens: is null, should be { url }'],
    [{ jwt: {} }, 'jwt.issuer: is missing, should be a URL', 'jwt.audience: is missing, should be what the "aud"'],
    [{ accessTokens: [TOKEN], verifier }, 'verifier: is given in addition to accessTokens, should be left out'],
    [{ verifier: {} }, 'verifier: is an object, should be an object with a method verify'],
    [{ verifier, verifyer: {} }, 'verifyer: is no option, should be one of accessTokens, issuedTokens, jwt, verifier'],
    [
      { accessTokens: [TOKEN, 1, 'hidden', `${TOKEN} hidden`, 'x'.repeat(8193)] },
      /^accessTokens: (token [2-5] of 5 is too short, too long or cannot be sent as a bearer token, should have .*){4}$/,
    ],
    [{ issuedTokens: { url, password: 'hidden' } }, 'issuedTokens.url: holds a password other than the one given'],
    [
      { jwt: { issuer: `${issuer}?hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt.issuer: is a string, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is an array, should be what the "aud" of JWTs for this service has',
      'jwt.jwksUrl: is a string, should be a URL',
      'jwt.typ: is a string, should be at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    const found = faultsOf(options);
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
    expect(found.join()).not.toMatch(/secret|hidden|a-token-of/);
  });

  it.each([true, {}, { name: 'alice' }])('should let nobody in whose verifier returns %j', (principal) => {
    const request = { headers: {}, rawHeaders: ['Authorization', `Bearer ${TOKEN}`], socket: {} };
    const guard = new BearerAuthGuard({ verify: () => principal as never });
    const enter = (): unknown => guard.canActivate(new ExecutionContextHost([request, {}], undefined, () => undefined));
    expect(enter).toThrow(/has to return \{ name, scopes \}/);
  });
});
