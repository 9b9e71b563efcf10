import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { importJWK, type JWTPayload, SignJWT } from 'jose';
import { AUDIENCE, signingKey, type SigningKey, SUBJECT } from '../../../test/support/tokens/forged-jwt.js';
import { JwtIssuer } from '../../../test/support/tokens/jwt-issuer.js';
import { json } from '../../../test/support/tokens/key-server.js';
import { jwtPrincipal, jwtRules } from './jwt-rules.js';

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const ELLIPTIC = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** All that the clock is made of but the date. */
const REAL_TIME = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe(jwtRules.name, () => {
  let issuer: JwtIssuer;
  let key: SigningKey;
  beforeAll(async () => {
    key = await signingKey('a');
  });
  beforeEach(async () => {
    issuer = await JwtIssuer.start();
    issuer.has([key]);
  });
  afterEach(() => issuer[Symbol.asyncDispose]());

  const seconds = (): number => Math.floor(Date.now() / 1000);

  it.each([...RSA, ...ELLIPTIC])('should accept %s', async (alg) => {
    const its = await signingKey('b', alg);
    issuer.has([key, its]);
    const token = await new SignJWT({ iss: issuer.server.url, aud: AUDIENCE, sub: SUBJECT, exp: seconds() + 60 })
      .setProtectedHeader({ alg, kid: 'b' })
      .sign(await importJWK(its));
    expect(await issuer.verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
  });

  it('should accept no secret of an issuer: anybody who knows it could sign', async () => {
    const secret = new TextEncoder().encode('x'.repeat(32));
    const k = Buffer.from(secret).toString('base64url');
    issuer.server.answer = json({ keys: [{ kty: 'oct', k, kid: 'a', alg: 'HS256' }] });
    const token = await new SignJWT({ iss: issuer.server.url, aud: AUDIENCE, sub: SUBJECT, exp: seconds() + 60 })
      .setProtectedHeader({ alg: 'HS256', kid: 'a' })
      .sign(secret);
    expect(await issuer.verifier.verify(token)).toBeUndefined();
    expect(issuer.debugged).toEqual(['A JWT is not valid: alg is not an asymmetric algorithm']);
  });

  it.each([
    ['an audience of several', {}, { aud: ['house', 'garden'] }],
    ['the type of RFC 9068', { typ: 'application/AT+JWT' }, {}],
    ['the type of RFC 7519', { typ: 'JWT' }, {}],
  ])('should accept %s', async (_, header, claims) => {
    expect(await issuer.verifier.verify(issuer.forge(key, claims, header))).toMatchObject({ name: `jwt:${SUBJECT}` });
  });

  it.each([
    ['at+jwt', true],
    ['AT+JWT', true],
    ['application/at+jwt', true],
    ['JWT', false],
    [undefined, false],
  ])('should accept, if at+jwt is required, the type %s: %s', async (typ, isValid) => {
    await using strict = await JwtIssuer.start('at+jwt');
    strict.has([key]);
    const verdict = await strict.verifier.verify(strict.forge(key, {}, { typ }));
    expect(verdict?.name).toBe(isValid ? `jwt:${SUBJECT}` : undefined);
    expect(strict.debugged).toEqual(isValid ? [] : ['A JWT is not valid: typ is not as it should be']);
  });

  it.each([
    ['the type of another', { typ: 'logout+jwt' }, {}, 'typ is not that of an access token'],
    ['an invalid type', { typ: 5 }, {}, 'typ is not that of an access token'],
    ['another audience', {}, { aud: 'house' }, 'aud is not as it should be'],
    ['no audience', {}, { aud: undefined }, 'aud is missing'],
    ['another issuer', {}, { iss: 'https://id.example.com' }, 'iss is not the issuer'],
    ['no end', {}, { exp: undefined }, 'exp is missing or not a number'],
    ['an end in words', {}, { exp: 'never' }, 'exp is missing or not a number'],
    ['a JWT that is bound to a key', {}, { cnf: { jkt: 'x' } }, 'cnf binds it to a key, which is not supported'],
    ['a JWT that is bound to nothing', {}, { cnf: null }, 'cnf binds it to a key, which is not supported'],
    ['no subject', {}, { sub: undefined }, 'sub is missing'],
    ['a subject that cannot be stored', {}, { sub: 'a\0' }, 'sub cannot be stored or logged'],
    ['an unknown key', { kid: 'b' }, {}, 'it is signed with a key that the issuer does not have'],
  ])('should refuse %s, and say why if that is asked for', async (_, header, claims, reason) => {
    expect(await issuer.verifier.verify(issuer.forge(key, claims, header))).toBeUndefined();
    expect(issuer.debugged).toEqual([`A JWT is not valid: ${reason}`]);
  });

  it.each([
    ['exp', -29, undefined],
    ['exp', -30, 'exp is over'],
    ['nbf', 30, undefined],
    ['nbf', 31, 'nbf is not as it should be'],
  ])('should allow clocks to differ by 30 seconds: %s of %s', async (claim, later, reason) => {
    const now = seconds();
    jest.useFakeTimers({ now: now * 1000, doNotFake: [...REAL_TIME] });
    try {
      const verdict = await issuer.verifier.verify(issuer.forge(key, { [claim]: now + later }));
      expect(verdict?.name).toBe(reason === undefined ? `jwt:${SUBJECT}` : undefined);
      expect(issuer.debugged).toEqual(reason === undefined ? [] : [`A JWT is not valid: ${reason}`]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe(jwtPrincipal.name, () => {
  it('should have the subject in its name, apart from the names of tokens, and be one for metrics with all others', () => {
    expect(jwtPrincipal({ sub: 'static', scope: 'plants:create' })).toEqual({
      name: 'jwt:static',
      scopes: ['plants:create'],
    });
  });

  it.each(['a', 'x'.repeat(251), 'auth0|5f7c', 'Zoë 🌱', 'a\u200db'])('should have the subject %j', (sub) => {
    expect(jwtPrincipal({ sub })?.name).toBe(`jwt:${sub}`);
  });

  it.each([
    '',
    'x'.repeat(252),
    'a\0',
    'a\nb',
    '\u001b[2J',
    '\u0085',
    'a\u2028b',
    'a\u2029b',
    'a\u061cb',
    'a\u200eb',
    'a\u200fb',
    'a\u202ab',
    'a\u202eb',
    'a\u2066b',
    'a\u2069b',
    '\ud800',
    'a\udc00',
    undefined,
    null,
    5,
    ['a'],
    {},
  ])('should have no principal with the subject %j', (sub) => {
    expect(jwtPrincipal({ sub } as JWTPayload)).toBeUndefined();
  });

  it.each([
    [{}, []],
    [{ scope: 'openid plants:create' }, ['openid', 'plants:create']],
    [{ scope: '  a  b ' }, ['a', 'b']],
    [{ scp: 'a b' }, ['a', 'b']],
    [{ scp: ['a', 'b c'] }, ['a', 'b c']],
    [{ scope: 'a b', scp: ['b', 'c'] }, ['a', 'b', 'c']],
    [{ scope: '', scp: [] }, []],
    [{ scope: ['plants:create'] }, []],
    [{ scope: { 'plants:create': true }, scp: 5 }, []],
    [{ scope: null, scp: null }, []],
    [{ scp: ['plants:create', 5] }, []],
    [{ scope: 'plants:create\tx' }, ['plants:create\tx']],
  ])('should have of %j the scopes %j', (claims, scopes) => {
    expect(jwtPrincipal({ sub: 'a', ...claims })?.scopes).toEqual(scopes);
  });
});
