import { afterEach, describe, expect, it, jest } from '@jest/globals';
import passport from 'passport';
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
  it.each([
    { accessTokens: [TOKEN, `${TOKEN}==`], issuedTokens: undefined },
    { verifier },
    { issuedTokens: { url: 'postgresql://db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 } },
    { jwt: { issuer, audience: ['plants', 'garden'], jwksUrl: 'http://[::1]:8080/keys?version=2', typ: 'at+jwt' } },
  ])('should take %j', (options) => {
    expect(faultsIn(options)).toEqual([]);
  });

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

  type Verify = (token: string, request: object) => unknown;
  const strategies: BearerStrategy[] = [];
  const guardOf = (verify: Verify): BearerAuthGuard => {
    const strategy = new BearerStrategy({ verify: verify as never });
    strategies.push(strategy);
    return new BearerAuthGuard(strategy);
  };
  afterEach(() => {
    for (const strategy of strategies.splice(0)) strategy.onApplicationShutdown();
  });

  const pass = (guard: BearerAuthGuard, request: object = {}, type = 'http'): Promise<boolean> => {
    const rawHeaders = ['Authorization', `Bearer ${TOKEN}`];
    const context = new ExecutionContextHost(
      [Object.assign(request, { headers: {}, rawHeaders })],
      undefined,
      () => undefined,
    );
    context.setType(type);
    const response = { getHeader: () => 'id-of-the-request' };
    context.switchToHttp = () => ({ getRequest: () => request, getResponse: () => response }) as never;
    return guard.canActivate(context);
  };
  const enter = (verify: Verify, request = {}, type = 'http'): Promise<boolean> => pass(guardOf(verify), request, type);

  it.each([true, {}, { name: 'alice' }])('should let nobody in whose verifier returns %j', async (principal) => {
    await expect(enter(() => principal)).rejects.toThrow(/has to return \{ name, scopes \}/);
  });

  it.each<[string, () => unknown]>([
    ['rejects with undefined', () => Promise.resolve().then(() => Promise.reject(undefined as unknown as Error))],
    ['rejects with an error', () => Promise.reject(new Error('away'))],
    [
      'throws',
      () => {
        throw new TypeError('away');
      },
    ],
  ])('should answer 50300 if a verifier %s', async (_, verdict) => {
    await expect(enter(verdict)).rejects.toMatchObject({ error: 50300 });
  });

  it('should pass on a failure of another copy of the package', async () => {
    const failure = Object.assign(new Error('from CommonJS'), { [Symbol.for('plant-store:api-error')]: true });
    await expect(enter(() => Promise.reject(failure))).rejects.toBe(failure);
  });

  it('should give the token to passport.authenticate(), and protect nothing but HTTP', async () => {
    const authenticate = jest.spyOn(passport, 'authenticate');
    const principal = { name: 'alice', scopes: [] };
    const request = {};
    expect(await enter(() => principal, request)).toBe(true);
    expect(request).toMatchObject({ user: principal });
    expect(authenticate).toHaveBeenCalledTimes(1);
    await expect(enter(() => principal, {}, 'rpc')).rejects.toThrow('protects routes of HTTP');
    authenticate.mockRestore();
  });

  it('should give the request of the platform to the verifier', async () => {
    const requests: object[] = [];
    const request = { of: 'the platform' };
    await enter((_token, given) => ({ name: String(requests.push(given)), scopes: [] }), request);
    expect(requests[0]).toBe(request);
  });

  it('should take its strategy out of passport at the stop', async () => {
    const guard = guardOf(() => ({ name: 'alice', scopes: [] }));
    expect(await pass(guard)).toBe(true);
    strategies[0]?.onApplicationShutdown();
    await expect(pass(guard)).rejects.toThrow('Unknown authentication strategy "plant-store-');
  });

  it('should give each of many requests in two stores at once its own verdict', async () => {
    const numbered = (request: object): object => ({ name: (request as { number: string }).number, scopes: [] });
    const late: Verify = (_token, request) =>
      new Promise((resolve) =>
        setTimeout(resolve, Number((request as { number: string }).number) % 7, numbered(request)),
      );
    const [slow, quick] = [guardOf(late), guardOf((_token, request) => numbered(request))];
    const requests = Array.from({ length: 500 }, (_, index) => ({ number: String(index) }));
    await Promise.all(requests.map((request, index) => pass(index % 2 ? slow : quick, request)));
    expect(requests.map((request) => (request as { user?: object }).user)).toEqual(requests.map(numbered));
  });
});
