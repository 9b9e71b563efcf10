import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { importJWK, SignJWT } from 'jose';
import {
  AUDIENCE,
  base64url,
  shortKey,
  signingKey,
  type SigningKey,
  SUBJECT,
} from '../../test/support/tokens/forged-jwt.js';
import { JwtIssuer } from '../../test/support/tokens/jwt-issuer.js';
import { json } from '../../test/support/tokens/key-server.js';
import { JwtVerifier } from './jwt.verifier.js';

const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
const MINUTE_MS = 60_000;

describe(JwtVerifier.name, () => {
  let issuer: JwtIssuer;
  let verifier: JwtVerifier;
  let a: SigningKey;
  let b: SigningKey;
  beforeAll(async () => {
    [a, b] = [await signingKey('a'), await signingKey('b')];
  });
  beforeEach(async () => {
    issuer = await JwtIssuer.start();
    issuer.has([a]);
    verifier = issuer.verifier;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await issuer[Symbol.asyncDispose]();
  });

  const seconds = (): number => Math.floor(Date.now() / 1000);
  /** From now on it is so much later. */
  const later = (milliseconds: number): void => {
    const now = Date.now() + milliseconds;
    jest.spyOn(Date, 'now').mockReturnValue(now);
  };

  it.each(ALGORITHMS)('should accept %s', async (alg) => {
    const key = await signingKey('b', alg);
    issuer.has([a, key]);
    const token = await new SignJWT({ iss: issuer.server.url, aud: AUDIENCE, sub: SUBJECT, exp: seconds() + 60 })
      .setProtectedHeader({ alg, kid: 'b' })
      .sign(await importJWK(key));
    expect(await verifier.verify(token)).toEqual({ name: `jwt:${SUBJECT}`, scopes: [] });
  });

  it.each<[object, object, RegExp]>([
    [{}, { alg: 'HS256' }, /alg is "HS256", should be one of RS256,/],
    [{}, { typ: 'logout+jwt' }, /typ is "logout\+jwt", should be at\+jwt, JWT or none$/],
    [{}, { kid: 'b' }, /kid is "b", should be that of a key of the issuer$/],
    [{ iss: 'https://id.example.com' }, {}, /iss is "https:\/\/id\.example\.com", should be http:/],
    [{ iss: undefined }, {}, /iss is missing, should be http:/],
    [{ aud: 'house' }, {}, /aud is "house", should be https:\/\/plants\.example or garden$/],
    [{ sub: 'a\0' }, {}, /sub is "a\\u0000", should be a text that can be stored and logged$/],
    [{ exp: 1 }, {}, /exp is "1", should be a number larger than \d+$/],
    [{ exp: 'never' }, {}, /exp is "never", should be a number larger than \d+$/],
    [{ nbf: 9e9 }, {}, /nbf is "9000000000", should be a number, at most \d+$/],
    [{ cnf: { jkt: 'x' } }, {}, /cnf is .*, should be left out$/],
  ])(
    'should refuse %j %j, and tell the operator what was found and what is expected',
    async (claims, header, reason) => {
      expect(await verifier.verify(issuer.forge(a, claims, header))).toBeUndefined();
      expect(issuer.logged).toEqual([expect.stringMatching(reason)]);
      // Most strange tokens are not worth fetching keys for.
      expect(issuer.server.requests).toHaveLength('kid' in header ? 1 : 0);
    },
  );

  it.each([`${base64url('null')}.${base64url('null')}.AA`, 'a.b.c'])(
    'should refuse %s: it is malformed',
    async (token) => {
      expect(await verifier.verify(token)).toBeUndefined();
      expect(issuer.logged).toEqual(['A JWT was refused: it is malformed']);
    },
  );

  it.each([
    ['at+jwt', true],
    ['application/AT+JWT', true],
    ['JWT', false],
    [undefined, false],
  ])('should accept, if at+jwt is required, the type %s: %s', async (typ, isValid) => {
    await using strict = await JwtIssuer.start('at+jwt');
    strict.has([a]);
    expect((await strict.verifier.verify(strict.forge(a, {}, { typ }))) !== undefined).toBe(isValid);
  });

  it('should let clocks differ by 30 seconds', async () => {
    expect(await verifier.verify(issuer.forge(a, { exp: seconds() - 25, nbf: seconds() + 25 }))).toBeDefined();
    expect(await verifier.verify(issuer.forge(a, { exp: seconds() - 31 }))).toBeUndefined();
    expect(await verifier.verify(issuer.forge(a, { nbf: seconds() + 35 }))).toBeUndefined();
  });

  it.each([
    [{ scope: ' openid  plants:create ' }, ['openid', 'plants:create']],
    [{ scope: undefined, scp: 'a b' }, ['a', 'b']],
    [{ scope: 'a b', scp: ['b', 'c d'] }, ['a', 'b', 'c d']],
    [{ scope: ['plants:create'], scp: ['plants:create', 5] }, []],
  ])('should have of %j the scopes %j', async (claims, scopes) => {
    expect(await verifier.verify(issuer.forge(a, claims))).toEqual({ name: `jwt:${SUBJECT}`, scopes });
  });

  it('should try each key if a JWT names none, but a short one', async () => {
    const short = shortKey();
    issuer.has([a, b, short]);
    for (const key of [a, b]) expect(await verifier.verify(issuer.forge(key, {}, { kid: undefined }))).toBeDefined();
    expect(await verifier.verify(issuer.forge(short, {}, { kid: undefined }))).toBeUndefined();
    expect(await verifier.verify(issuer.forge(await signingKey('c'), {}, { kid: undefined }))).toBeUndefined();
  });

  it('should find out of a new key, if keys have no names, that looks like a forged signature', async () => {
    issuer.has([a], { named: false });
    expect(await verifier.verify(issuer.forge(a, {}, { kid: undefined }))).toBeDefined();
    issuer.has([b], { named: false });
    expect(await verifier.verify(issuer.forge(b, {}, { kid: undefined }))).toBeUndefined();
    later(MINUTE_MS);
    expect(await verifier.verify(issuer.forge(b, {}, { kid: undefined }))).toBeDefined();
    expect(issuer.server.requests).toHaveLength(2);
  });

  it('should remember a JWT for five minutes, and not longer than it is valid', async () => {
    const [long, short] = [issuer.forge(a), issuer.forge(a, { exp: seconds() + 100 })];
    const principals = [await verifier.verify(long), await verifier.verify(short)];
    expect([verifier.verify(long), verifier.verify(short)]).toEqual(principals);
    later(2.5 * MINUTE_MS);
    expect(verifier.verify(long)).toBe(principals[0]);
    expect(await verifier.verify(short)).toBeUndefined();
    later(3 * MINUTE_MS);
    expect(verifier.verify(long)).toBeInstanceOf(Promise);
  });

  it('should use keys for an hour, and then say that it cannot decide if the issuer is away', async () => {
    const token = issuer.forge(a, { exp: seconds() + 7200 });
    await verifier.verify(token);
    issuer.server.answer = json({}, 503);
    later(59 * MINUTE_MS);
    expect(await verifier.verify(token)).toBeDefined();
    later(7 * MINUTE_MS);
    await expect(verifier.verify(token)).rejects.toThrow(/cannot be fetched.*503/);
  });
});
