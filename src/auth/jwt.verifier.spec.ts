import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as jose from 'jose';
import { setImmediate } from 'node:timers/promises';
import { AUDIENCE, json, JwtIssuer, signingKey, type SigningKey, SUBJECT } from '../../test/support/tokens/tokens.js';
import { until } from '../../test/support/until.js';
import { JwtVerifier } from './jwt.verifier.js';
import { refusalOf } from './token-verifier.js';

const NAME = `jwt:${SUBJECT}`;
const MINUTE_MS = 60_000;
const NOW = Math.floor(Date.now() / 1000);

describe(JwtVerifier.name, () => {
  let issuer: JwtIssuer;
  let a: SigningKey;
  let b: SigningKey;
  let verifier: JwtVerifier;

  /** Why the log says that it was refused. */
  const refusal = async (token: string): Promise<string | undefined> => {
    const request = {};
    expect(await verifier.verify(token, request)).toBeUndefined();
    return refusalOf(request);
  };
  /** From now on it is so much later. */
  const later = (milliseconds: number): void => {
    for (const clock of [Date, performance]) jest.spyOn(clock, 'now').mockReturnValue(clock.now() + milliseconds);
  };

  beforeAll(async () => {
    [a, b] = [await signingKey('a'), await signingKey('b')];
    issuer = await JwtIssuer.start([a]);
  });
  afterAll(async () => {
    await issuer[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    issuer.keys = [a];
    issuer.answer = undefined;
    issuer.requests.length = 0;
    verifier = new JwtVerifier({ issuer: issuer.url, audience: [AUDIENCE, 'garden'] }, jose);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[what: string, claims: object, header: object, reason: RegExp]>([
    [
      'with a shared secret',
      {},
      { alg: 'HS256' },
      /alg is "HS256", should be one of RS256, .*PS512, ES256, .*EdDSA, Ed25519$/,
    ],
    ['of another type', {}, { typ: 'logout+jwt' }, /typ is "logout\+jwt", should be at\+jwt, JWT or none$/],
    [
      'of another issuer',
      { iss: 'https://id.example.com' },
      {},
      /iss is "https:\/\/id\.example\.com", should be http:/,
    ],
    [
      'for another audience',
      { aud: [{ toString: AUDIENCE }, null, [AUDIENCE]] },
      {},
      /aud is "\[\{.*should be .*\.example or garden$/,
    ],
    ['whose subject steers a terminal', { sub: 'a\0\u202e' }, {}, /sub is "a\\u0000\\u202e", should be a text that/],
    ['that has ended', { exp: NOW - 60 }, {}, /exp is/],
    ['without an end', { exp: undefined }, {}, /exp is missing/],
    ['of the future', { nbf: 9e9 }, {}, /nbf is "9000000000", should be a number, at most \d+$/],
    ['that is bound to a key', { cnf: { jkt: 'x' } }, {}, /cnf is .*, should be omitted$/],
  ])(
    'should refuse one %s with a reason that has what was found, and fetch nothing',
    async (_, claims, header, reason) => {
      expect(await refusal(issuer.token(claims, header))).toMatch(reason);
      expect(issuer.requests).toEqual([]);
    },
  );

  it.each<[string, () => string]>([
    ['without a name, signed by a stranger', () => issuer.token({}, { kid: undefined }, b)],
    ['that brings its key', () => issuer.token({}, { jwk: b }, b)],
    ['whose header is none', () => 'wxyz.wxyz.wxyz'],
  ])('should refuse one %s, and log nothing of it', async (_, make) => {
    const token = make();
    const reason = await refusal(token);
    for (const part of token.split('.')) expect(reason).not.toContain(part);
  });

  it.each<[claims: object, header: object, scopes: string[]]>([
    [{ scope: ' openid  plants:create ' }, {}, ['openid', 'plants:create']],
    [{ scope: 'a b', scp: ['b', 'c d', 5] }, {}, ['a', 'b', 'c', 'd']],
    [{ scope: undefined, aud: ['other', 'garden'] }, {}, []],
    // The issuer has one key, and clocks may differ.
    [{ scope: 'a', exp: NOW - 5, nbf: NOW + 25 }, { kid: undefined }, ['a']],
  ])('should accept %j %j, with the scopes %j', async (claims, header, scopes) => {
    expect(await verifier.verify(issuer.token(claims, header))).toEqual({ name: NAME, scopes });
  });

  it('should accept no other type if at+jwt is required', async () => {
    verifier = new JwtVerifier({ issuer: issuer.url, audience: AUDIENCE, typ: 'at+jwt' }, jose);
    for (const typ of ['at+jwt', 'application/AT+JWT'])
      expect(await verifier.verify(issuer.token({}, { typ }))).toMatchObject({ name: NAME });
    for (const typ of ['JWT', undefined])
      expect(await refusal(issuer.token({}, { typ }))).toMatch(/should be at\+jwt$/);
  });

  it('should accept one whose key has the name of another, or is there twice, and refuse a stranger', async () => {
    const named = await signingKey('a');
    for (const first of [named, a]) {
      issuer.keys = [first, a];
      verifier = new JwtVerifier({ issuer: issuer.url, audience: AUDIENCE }, jose);
      expect(await verifier.verify(issuer.token({}, { kid: 'a' }))).toBeDefined();
      const reason = 'A JWT was refused: it was not signed with the key "a"';
      expect(await refusal(issuer.token({}, { kid: 'a' }, b))).toBe(reason);
    }
  });

  it('should remember a JWT for five minutes, and not longer than it is valid', async () => {
    const [long, short] = [issuer.token(), issuer.token({ exp: NOW + 100 })];
    const principals = [await verifier.verify(long), await verifier.verify(short)];
    expect([verifier.verify(long), verifier.verify(short)]).toEqual(principals);
    later(2.5 * MINUTE_MS);
    expect([verifier.verify(long), await verifier.verify(short)]).toEqual([principals[0], undefined]);
    later(3 * MINUTE_MS);
    expect(verifier.verify(long)).toBeInstanceOf(Promise);
  });

  it('should accept a new key, and the old one as long as the issuer has it', async () => {
    const ofKey = (key: SigningKey): Promise<unknown> =>
      Promise.resolve(verifier.verify(issuer.token({ jti: Math.random() }, {}, key)));
    expect(await ofKey(a)).toBeDefined();
    issuer.keys = [b, a];
    later(2000);
    // The issuer has it, and the store may not ask yet. Those with a known key do not notice.
    await expect(ofKey(b)).rejects.toMatchObject({ error: 50300, headers: { 'Retry-After': '3' } });
    expect(await ofKey(a)).toBeDefined();
    later(3000);
    expect([await ofKey(b), await ofKey(a)]).not.toContain(undefined);
    issuer.keys = [b];
    later(60 * MINUTE_MS);
    expect([await ofKey(b), await ofKey(a)]).toEqual([{ name: NAME, scopes: ['plants:create'] }, undefined]);
    expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/jwks', '/jwks', '/jwks']);
  });

  it('should refuse a key that the issuer lacks when it is asked, also while it is asked for another one', async () => {
    await verifier.verify(issuer.token());
    later(6000);
    const answers: (() => void)[] = [];
    issuer.answer = (...of) =>
      answers.push(() => {
        json({ keys: [a.publicJwk] })(...of);
      });
    const [first, second] = ['stranger', 'newer'].map((kid) => verifier.verify(issuer.token({}, { kid })));
    await until(() => answers.length > 0);
    later(1);
    // The issuer may have made this one after it was asked.
    const third = verifier.verify(issuer.token({}, { kid: 'newest' }));
    await setImmediate();
    answers[0]?.();
    expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
    await expect(third).rejects.toMatchObject({
      error: 50300,
      headers: { 'Retry-After': expect.stringMatching(/^[56]$/) },
    });
    // Within the pause, but no key would help.
    for (const header of [{ kid: 'a' }, { kid: undefined }, { kid: 'a', alg: 'RS256' }])
      expect(await refusal(issuer.token({}, header, b))).toMatch(/kid is "a"|the key "(?:a|without a name)"$/);
    expect(answers).toHaveLength(1);
  });

  it('should use keys for an hour, and then ask a failing issuer only every five seconds', async () => {
    const token = issuer.token({ exp: NOW + 7200 });
    await verifier.verify(token);
    issuer.answer = json({}, 503);
    later(59 * MINUTE_MS);
    expect(await verifier.verify(token)).toBeDefined();
    later(7 * MINUTE_MS);
    issuer.requests.length = 0;
    for (let i = 0; i < 3; i++)
      await expect(verifier.verify(token)).rejects.toThrow(/cannot be fetched: .* answers 503/);
    expect(issuer.requests).toEqual(['/jwks']);
    issuer.answer = undefined;
    later(6000);
    expect(await verifier.verify(token)).toBeDefined();
  });

  it.each<[string, RegExp, (url: string) => JwtIssuer['answer']]>([
    ['redirects', /answers 302, .* redirects are not followed/, () => json({}, 302)],
    ['names another', /names the issuer "http.*\/", should name/, (url) => json({ issuer: `${url}/` })],
    ['names a file', /the jwks_uri "file:/, (url) => json({ issuer: url, jwks_uri: 'file:///etc/keys' })],
  ])('should take no keys from an issuer that %s', async (_, reason, answerOf) => {
    issuer.answer = answerOf(issuer.url);
    await expect(verifier.verify(issuer.token())).rejects.toThrow(reason);
  });

  it('should find the keys of an issuer whose URL ends with a slash', async () => {
    const url = `${issuer.url}/`;
    const discovered = json({ issuer: url, jwks_uri: `${issuer.url}/jwks` });
    const keys = json({ keys: [a.publicJwk] });
    const answers = new Map([
      ['/.well-known/openid-configuration', discovered],
      ['/jwks', keys],
    ]);
    issuer.answer = (request, response) => {
      (answers.get(request.url ?? '') ?? json({}, 404))(request, response);
    };
    verifier = new JwtVerifier({ issuer: url, audience: AUDIENCE }, jose);
    expect(await verifier.verify(issuer.token({ iss: url }))).toMatchObject({ name: NAME });
  });

  it('should take no keys over plain HTTP if the issuer has HTTPS', async () => {
    const url = 'https://id.example.com';
    verifier = new JwtVerifier({ issuer: url, audience: AUDIENCE }, jose);
    jest.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json({ issuer: url, jwks_uri: `${issuer.url}/jwks` }));
    await expect(verifier.verify(issuer.token({ iss: url }))).rejects.toThrow(/should have a URL, with https/);
    expect(issuer.requests).toEqual([]);
  });
});
