import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { json, KeyServer } from '../../../test/support/key-server.js';
import { IssuerKeys, KEYS_TIMING } from './issuer-keys.js';
import { JwtVerifier } from './jwt-verifier.js';

interface Pair {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Stops the clock that tells the date, and lets timers run. */
function stopClock(now: number): void {
  jest.useFakeTimers({
    now,
    doNotFake: [
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
    ],
  });
}

async function pair(alg = 'ES256', names: { kid?: string; alg?: string } = {}): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), ...names } };
}

describe(JwtVerifier.name, () => {
  let server: KeyServer;
  let verifier: JwtVerifier;
  let debugged: string[];

  beforeEach(async () => {
    server = await KeyServer.start(json({ keys: [] }));
    verifier = verifierOf();
    debugged = [];
    const debug = (message: unknown): number => debugged.push(String(message));
    Logger.overrideLogger({ log: () => undefined, warn: () => undefined, error: () => undefined, debug });
  });
  afterEach(async () => {
    verifier.onApplicationShutdown();
    await server[Symbol.asyncDispose]();
    Logger.overrideLogger(true);
  });

  function verifierOf(): JwtVerifier {
    const options = { issuer: server.url, audience: ['plants', 'garden'], jwksUrl: `${server.url}/keys` };
    return new JwtVerifier(options, new IssuerKeys(options, { ...KEYS_TIMING, cooldown: 0 }));
  }

  function serve(...pairs: Pair[]): void {
    server.answer = json({ keys: pairs.map(({ jwk }) => jwk) });
  }

  function sign(
    { privateKey }: Pair,
    header: { alg?: string; kid?: string; typ?: string } = {},
    claims = {},
  ): Promise<string> {
    return new SignJWT({ iss: server.url, aud: 'plants', sub: 'alice', exp: seconds(60), ...claims })
      .setProtectedHeader({ alg: 'ES256', ...header })
      .sign(privateKey);
  }

  const seconds = (later: number): number => Math.floor(Date.now() / 1000) + later;

  it.each(['static-token-of-20-characters', 'plant_abc', 'a.b', 'a.b.c.d.e', 'a.b.', '..', 'a.b+c.d'])(
    'should let pass %s at once: it is no JWT',
    (token) => {
      expect(verifier.verify(token)).toBeUndefined();
      expect(server.requests).toEqual([]);
    },
  );

  it.each(ALGORITHMS)('should accept %s', async (alg) => {
    const key = await pair(alg, { kid: 'a' });
    serve(key);
    expect(await verifier.verify(await sign(key, { alg, kid: 'a' }))).toMatchObject({ name: 'alice' });
  });

  it.each([
    ['an audience of several', {}, { aud: ['house', 'garden'] }],
    ['the type of RFC 9068', { typ: 'application/AT+JWT' }, {}],
    ['the type of RFC 7519', { typ: 'JWT' }, {}],
  ])('should accept %s', async (_, header, claims) => {
    const key = await pair();
    serve(key);
    expect(await verifier.verify(await sign(key, header, claims))).toMatchObject({ name: 'alice' });
  });

  it.each([
    ['the type of another', { typ: 'logout+jwt' }, {}, 'typ is not that of an access token'],
    ['another audience', {}, { aud: 'house' }, 'aud is not as it should be'],
    ['no audience', {}, { aud: undefined }, 'aud is missing'],
    ['another issuer', {}, { iss: 'https://id.example.com' }, 'iss is not the issuer'],
    ['no end', {}, { exp: undefined }, 'exp is missing or over'],
    ['an end in words', {}, { exp: 'never' }, 'exp is missing or over'],
    ['no subject', {}, { sub: undefined }, 'sub is missing'],
    ['a subject that cannot be stored', {}, { sub: 'a\0' }, 'sub cannot be stored or logged'],
    ['an unknown key', { kid: 'b' }, {}, 'it is signed with a key that the issuer does not have'],
  ])('should refuse %s, and say why where that is asked for', async (_, header, claims, reason) => {
    const key = await pair('ES256', { kid: 'a' });
    serve(key);
    const token = await sign(key, { kid: 'a', ...header }, claims);

    expect(await verifier.verify(token)).toBeUndefined();
    expect(debugged).toEqual([`A JWT is not valid: ${reason}`]);
  });

  it.each([
    ['exp', -29, undefined],
    ['exp', -30, 'exp is missing or over'],
    ['nbf', 30, undefined],
    ['nbf', 31, 'nbf is not as it should be'],
  ])('should allow clocks to differ by 30 seconds: %s of %s', async (claim, later, reason) => {
    const key = await pair();
    serve(key);
    const now = seconds(0);
    stopClock(now * 1000);
    try {
      const verdict = await verifier.verify(await sign(key, {}, { [claim]: now + later }));
      expect(verdict?.name).toBe(reason === undefined ? 'alice' : undefined);
      expect(debugged).toEqual(reason === undefined ? [] : [`A JWT is not valid: ${reason}`]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('should fetch no keys for what is evidently not valid', async () => {
    const key = await pair();
    const tokens = [
      await sign(key, {}, { iss: 'https://id.example.com' }),
      await sign(key, {}, { exp: seconds(-60) }),
      `${btoa('{"alg":"none"}')}.e30.AA`,
      `${btoa('{"alg":"HS256"}')}.e30.AA`.replaceAll('=', ''),
      `${btoa('null').replaceAll('=', '')}.bnVsbA.AA`,
      'a.b.c',
    ];
    for (const token of tokens) expect(await verifier.verify(token)).toBeUndefined();
    expect(server.requests).toEqual([]);
  });

  it('should try each key where a JWT names none, one that cannot be used included', async () => {
    const unusable = { ...(await pair()), jwk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } };
    const last = await pair();
    const keys = [await pair(), await pair(), last];
    serve(unusable, ...keys);

    for (const key of keys) expect(await verifier.verify(await sign(key))).toMatchObject({ name: 'alice' });
    expect(await verifier.verify(await sign(await pair()))).toBeUndefined();
    expect(await verifier.verify(await sign(last, {}, { aud: 'house' }))).toBeUndefined();
  });

  it('should find out of a new key where keys have no names', async () => {
    const old = await pair();
    const next = await pair();
    serve(old);
    expect(await verifier.verify(await sign(old))).toBeDefined();
    serve(next);
    expect(await verifier.verify(await sign(next))).toBeDefined();
  });

  it('should not fetch keys for a forged signature of a key with a name', async () => {
    const key = await pair('ES256', { kid: 'a' });
    serve(key);
    await verifier.verify(await sign(key, { kid: 'a' }));

    expect(await verifier.verify(await sign(await pair(), { kid: 'a' }))).toBeUndefined();

    expect(server.requests).toHaveLength(1);
  });

  it('should ask no secret of an issuer: a symmetric key among its keys verifies nothing', async () => {
    const secret = new TextEncoder().encode('x'.repeat(32));
    server.answer = json({
      keys: [{ kty: 'oct', k: Buffer.from(secret).toString('base64url'), kid: 'a', alg: 'HS256' }],
    });
    const token = await new SignJWT({ iss: server.url, aud: 'plants', sub: 'alice', exp: seconds(60) })
      .setProtectedHeader({ alg: 'HS256', kid: 'a' })
      .sign(secret);
    expect(await verifier.verify(token)).toBeUndefined();
  });

  it('should refuse a short RSA key', async () => {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) },
      true,
      ['sign', 'verify'],
    );
    serve({ privateKey, jwk: await exportJWK(publicKey) });
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const unsigned = `${encode({ alg: 'RS256' })}.${encode({ iss: server.url, aud: 'plants', sub: 'a', exp: seconds(60) })}`;
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(unsigned));

    expect(await verifier.verify(`${unsigned}.${Buffer.from(signature).toString('base64url')}`)).toBeUndefined();
    expect(debugged).toEqual([expect.stringContaining('2048 bits or larger')]);
  });

  describe('with a JWT that it has verified', () => {
    let key: Pair;
    let token: string;
    beforeEach(async () => {
      key = await pair('ES256', { kid: 'a' });
      serve(key);
      token = await sign(key, { kid: 'a' });
      await verifier.verify(token);
    });

    it('should know it at once', async () => {
      expect(verifier.verify(token)).toMatchObject({ name: 'alice' });
      const other = verifier.verify(await sign(key, { kid: 'a' }, { sub: 'bob' }));
      expect(other).toBeInstanceOf(Promise);
      expect(await other).toMatchObject({ name: 'bob' });
    });

    it('should refuse it when its time is over', async () => {
      const late = Date.now() + 91_000;
      const now = jest.spyOn(Date, 'now').mockReturnValue(late);
      try {
        expect(await verifier.verify(token)).toBeUndefined();
        now.mockReturnValue(late - 3000);
        expect(verifier.verify(token)).toMatchObject({ name: 'alice' });
      } finally {
        now.mockRestore();
      }
    });

    it('should refuse it when its key is gone', async () => {
      const next = await pair('ES256', { kid: 'b' });
      serve(next);
      expect(await verifier.verify(await sign(next, { kid: 'b' }))).toBeDefined();
      expect(await verifier.verify(token)).toBeUndefined();
    });

    it('should know it while the issuer is away, and of others not tell', async () => {
      server.answer = json({}, 503);
      await expect(verifier.verify(await sign(key, { kid: 'b' }))).rejects.toThrow(/cannot be fetched.*503/);
      expect(verifier.verify(token)).toMatchObject({ name: 'alice' });
      expect(await verifier.verify(await sign(key, { kid: 'a' }, { sub: 'bob' }))).toMatchObject({ name: 'bob' });
    });
  });
});
