import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { base64url, shortKey, signingKey, type SigningKey, SUBJECT } from '../../../test/support/tokens/forged-jwt.js';
import { JwtIssuer } from '../../../test/support/tokens/jwt-issuer.js';
import { json } from '../../../test/support/tokens/key-server.js';
import { JwtVerifier } from './jwt-verifier.js';

describe(JwtVerifier.name, () => {
  let issuer: JwtIssuer;
  let verifier: JwtVerifier;
  let a: SigningKey;
  let b: SigningKey;
  beforeAll(async () => {
    a = await signingKey('a');
    b = await signingKey('b');
  });
  beforeEach(async () => {
    issuer = await JwtIssuer.start();
    verifier = issuer.verifier;
  });
  afterEach(() => issuer[Symbol.asyncDispose]());

  it.each(['static-token-of-20-characters', 'plant_abc', 'a.b', 'a.b.c.d.e', 'a.b.', '..', 'a.b+c.d'])(
    'should let pass %s at once: it is no JWT',
    (token) => {
      expect(verifier.verify(token)).toBeUndefined();
      expect(issuer.server.requests).toEqual([]);
      expect(issuer.debugged).toEqual([]);
    },
  );

  it('should fetch no keys for what is evidently not valid', async () => {
    const tokens = [
      issuer.forge(a, { iss: 'https://id.example.com' }),
      issuer.forge(a, { exp: 1 }),
      issuer.forge(a, {}, { alg: 'HS256' }),
      issuer.forge(a, {}, { alg: 'none' }),
      `${base64url('null')}.${base64url('null')}.AA`,
      'a.b.c',
    ];
    for (const token of tokens) expect(await verifier.verify(token)).toBeUndefined();
    expect(issuer.server.requests).toEqual([]);
    expect(issuer.debugged).toEqual([
      'A JWT is not valid: iss is not the issuer',
      'A JWT is not valid: exp is over',
      'A JWT is not valid: alg is not an asymmetric algorithm',
      'A JWT is not valid: alg is not an asymmetric algorithm',
      'A JWT is not valid: it is malformed',
      'A JWT is not valid: it is malformed',
    ]);
  });

  it('should try each key if a JWT names none', async () => {
    issuer.has([a, b]);
    for (const key of [a, b]) {
      expect(await verifier.verify(issuer.forge(key, {}, { kid: undefined }))).toMatchObject({
        name: `jwt:${SUBJECT}`,
      });
    }
    expect(await verifier.verify(issuer.forge(b, { aud: 'house' }, { kid: undefined }))).toBeUndefined();
    expect(await verifier.verify(issuer.forge(await signingKey('c'), {}, { kid: undefined }))).toBeUndefined();
  });

  it('should find out of a new key if keys have no names', async () => {
    issuer.has([a], { named: false });
    expect(await verifier.verify(issuer.forge(a, {}, { kid: undefined }))).toBeDefined();
    issuer.has([b], { named: false });
    expect(await verifier.verify(issuer.forge(b, {}, { kid: undefined }))).toBeDefined();
  });

  it('should not fetch keys anew for a forged signature of a key with a name', async () => {
    issuer.has([a]);
    await verifier.verify(issuer.forge(a));

    expect(await verifier.verify(issuer.forge(b, {}, { kid: 'a' }))).toBeUndefined();

    expect(issuer.server.requests).toHaveLength(1);
    expect(issuer.debugged).toEqual(['A JWT is not valid: ERR_JWS_SIGNATURE_VERIFICATION_FAILED']);
  });

  it('should not use a short key, and go on with the others', async () => {
    const short = shortKey();
    const long = await signingKey('long', 'RS256');
    issuer.has([short, long]);
    expect(await verifier.verify(issuer.forge(short))).toBeUndefined();
    expect(issuer.debugged).toEqual([expect.stringContaining('2048 bits or larger')]);
    expect(await verifier.verify(issuer.forge(short, {}, { kid: undefined }))).toBeUndefined();
    expect(await verifier.verify(issuer.forge(long))).toMatchObject({ name: `jwt:${SUBJECT}` });
    expect(await verifier.verify(issuer.forge(long, {}, { kid: undefined }))).toMatchObject({ name: `jwt:${SUBJECT}` });
  });

  describe('with a JWT that it has verified', () => {
    let token: string;
    beforeEach(async () => {
      issuer.has([a]);
      token = issuer.forge(a);
      await verifier.verify(token);
    });

    it('should know it at once', async () => {
      expect(verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
      const other = verifier.verify(issuer.forge(a, { sub: 'bob' }));
      expect(other).toBeInstanceOf(Promise);
      expect(await other).toMatchObject({ name: 'jwt:bob' });
    });

    it('should still know it when the same keys were fetched again', async () => {
      const fetches = issuer.server.requests.length;
      expect(await verifier.verify(issuer.forge(b))).toBeUndefined();
      expect(issuer.server.requests.length).toBeGreaterThan(fetches);
      expect(verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
    });

    it('should refuse it when its time is over', async () => {
      const end = Date.now() + 630_000;
      const now = jest.spyOn(Date, 'now').mockReturnValue(end + 1000);
      try {
        expect(await verifier.verify(token)).toBeUndefined();
        // The last second of it was cut off when it was made.
        now.mockReturnValue(end - 20_000);
        expect(verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
      } finally {
        now.mockRestore();
      }
    });

    it('should not know it when its keys could not be fetched for a day', async () => {
      token = issuer.forge(a, { exp: Math.floor(Date.now() / 1000) + 7 * 86_400 });
      await verifier.verify(token);
      issuer.server.answer = json({}, 503);
      const start = Date.now();
      const now = jest.spyOn(Date, 'now').mockReturnValue(start + 86_390_000);
      try {
        expect(verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
        now.mockReturnValue(start + 86_410_000);
        await expect(verifier.verify(token)).rejects.toThrow(/cannot be fetched.*503/);

        issuer.has([a]);
        expect(await verifier.verify(token)).toMatchObject({ name: `jwt:${SUBJECT}` });
      } finally {
        now.mockRestore();
      }
    });
  });

  describe('with many JWTs that it has verified', () => {
    beforeEach(() => {
      issuer.has([a]);
    });

    const isRemembered = (token: string | undefined): boolean => !(verifier.verify(token ?? '') instanceof Promise);

    it('should remember 8,388,608 characters of them at most, of those that came last', async () => {
      const longToken = (i: number): string => issuer.forge(a, { sub: `gardener-${i}`, groups: 'x'.repeat(6000) });
      const tokens = Array.from({ length: 1100 }, (_, i) => longToken(1000 + i));
      const most = Math.floor(8_388_608 / longToken(1000).length);
      expect(most).toBeLessThan(1050);
      for (const token of tokens.slice(0, most)) await verifier.verify(token);
      expect(isRemembered(tokens[0])).toBe(true);

      await verifier.verify(tokens[most] ?? '');
      // The first was used a moment ago, and so is not the oldest any more.
      expect(isRemembered(tokens[0])).toBe(true);
      expect(isRemembered(tokens[2])).toBe(true);
      expect(isRemembered(tokens[1])).toBe(false);

      for (const token of tokens.slice(most + 1)) await verifier.verify(token);
      const forgotten = [...tokens.keys()].filter((index) => !isRemembered(tokens[index]));
      // All but the first three, which were used again.
      expect(forgotten).toEqual(Array.from({ length: tokens.length - most }, (_, index) => index + 3));
    });

    it('should remember more of shorter ones', async () => {
      const tokens = Array.from({ length: 3000 }, (_, i) => issuer.forge(a, { sub: `gardener-${i}` }));
      for (const token of tokens) await verifier.verify(token);
      expect(tokens.filter((token) => !isRemembered(token))).toEqual([]);
    });
  });
});
