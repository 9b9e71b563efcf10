import { describe, expect, it } from '@jest/globals';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { faultsOf } from '../../test/support/jest/suite.js';
import { PlantsAuthModule } from './auth.module.js';
import { authOptionsOf } from './auth.options.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { BearerStrategy } from './bearer.strategy.js';

const TOKEN = 'a-token-of-20-characters-or-more';
const verifier = { verify: () => undefined };
const issuer = 'https://id.example.com/realms/plants';
const faultsIn = (options: unknown): string[] => faultsOf(PlantsAuthModule.name, () => authOptionsOf(options));

describe(PlantsAuthModule.name, () => {
  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, /accessTokens: is missing, .* at least one token; or give issuedTokens, jwt, or a verifier$/],
    [{ accessTokens: [] }, 'accessTokens: is empty, should be an array of at least one token'],
    [{ issuedTokens: null }, 'issuedTokens: is null, should be { url }'],
    [{ jwt: {} }, 'jwt.issuer: is missing, should be a URL', 'jwt.audience: is missing, should be what the "aud"'],
    [{ accessTokens: [TOKEN], verifier }, 'verifier: is given in addition to accessTokens, should be left out'],
    [{ verifier: {} }, 'verifier: is an object, should be an object with a method verify'],
    [
      { accessTokens: [TOKEN, 1, 'hidden', `${TOKEN} hidden`, 'x'.repeat(8193)] },
      /^accessTokens: (token [2-5] of 5 is too short, too long or cannot be sent as a bearer token, should have .*){4}$/,
    ],
    [
      { jwt: { issuer: `${issuer}?hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt.issuer: is a string, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is an array, should be what the "aud" of JWTs for this service has',
      'jwt.jwksUrl: is a string, should be a URL',
      'jwt.typ: is a string, should be at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    const found = faultsIn(options);
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
    expect(found.join()).not.toMatch(/hidden|a-token-of/);
  });
});

describe(BearerAuthGuard.name, () => {
  type Verify = (token: string, request: object) => unknown;
  const guardOf = (verify: Verify): BearerAuthGuard => new BearerAuthGuard(new BearerStrategy({ verify } as never));

  const pass = (guard: BearerAuthGuard, request: object = {}): Promise<boolean> => {
    const rawHeaders = ['Authorization', `Bearer ${TOKEN}`];
    Object.assign(request, { headers: {}, rawHeaders });
    const context = new ExecutionContextHost([request], undefined, () => undefined);
    const response = { getHeader: () => 'id-of-the-request' };
    context.switchToHttp = () => ({ getRequest: () => request, getResponse: () => response }) as never;
    return guard.canActivate(context);
  };

  const away = (): never => {
    throw new TypeError('away');
  };
  const isNothing = { message: expect.stringContaining('has to return { name, scopes }') };
  const undecided = { error: 50300 };
  const ofOtherCopy = Object.assign(new Error('from CommonJS'), { [Symbol.for('plant-store:api-error')]: true });

  it.each<[what: string, verify: () => unknown, failure: object]>([
    ['returns true', () => true, isNothing],
    ['returns no scopes', () => ({ name: 'alice' }), isNothing],
    ['rejects with undefined', () => new Promise((_, reject) => setImmediate(reject)), undecided],
    ['throws', away, undecided],
    ['rejects with a failure of another copy of the package', () => Promise.reject(ofOtherCopy), ofOtherCopy],
  ])('should let nobody in whose verifier %s', async (_, verify, failure) => {
    await expect(pass(guardOf(verify))).rejects.toMatchObject(failure);
  });

  it('should give each of many requests in two stores at once the verdict on this very request', async () => {
    const numbered = (request: object): object => ({ name: (request as { number: string }).number, scopes: [] });
    const late: Verify = (_token, request) =>
      new Promise((resolve) => setTimeout(resolve, Math.random() * 7, numbered(request)));
    const [slow, quick] = [guardOf(late), guardOf((_token, request) => numbered(request))];
    const requests = Array.from({ length: 500 }, (_, index) => ({ number: String(index) }));
    await Promise.all(requests.map((request, index) => pass(index % 2 ? slow : quick, request)));
    expect(requests.map((request) => (request as { user?: object }).user)).toEqual(requests.map(numbered));
  });
});
