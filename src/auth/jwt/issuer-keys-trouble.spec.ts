import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RequestListener } from 'node:http';
import { freePort } from '../../../test/support/free-port.js';
import { KeysOwner, NEVER } from '../../../test/support/keys-owner.js';
import { publicJwk, shortKey, signingKey } from '../../../test/support/forged-jwt.js';
import { json } from '../../../test/support/key-server.js';
import { until } from '../../../test/support/until.js';
import { IssuerKeysError } from './issuer-keys.error.js';
import { IssuerKeys } from './issuer-keys.js';

describe(`${IssuerKeys.name}, at an issuer in trouble`, () => {
  let issuer: KeysOwner;

  beforeEach(async () => {
    issuer = await KeysOwner.start();
  });
  afterEach(() => issuer[Symbol.asyncDispose]());

  const failure = (reason: RegExp): Error =>
    expect.objectContaining({ name: 'IssuerKeysError', reason: expect.stringMatching(reason) }) as unknown as Error;

  it('should ask once in a while, however often that fails', async () => {
    issuer.answer = json({}, 500);
    const keys = issuer.keysOf({ cooldown: NEVER });

    for (let i = 0; i < 100; i++) await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);

    expect(issuer.requests).toHaveLength(1);
  });

  it('should ask again once the while is over', async () => {
    issuer.answer = json({}, 500);
    const keys = issuer.keysOf({ cooldown: 20 });
    await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);
    issuer.answer = json({ keys: [issuer.key] });

    await until(() => keys.otherThan(undefined).then(Boolean, () => false));

    expect(issuer.requests).toHaveLength(2);
  });

  it('should keep its keys while the issuer is away, and say only for others that it cannot tell', async () => {
    const keys = issuer.keysOf();
    const first = await keys.otherThan(undefined);
    issuer.answer = (request) => request.socket.destroy();

    await expect(keys.otherThan(first)).rejects.toThrow(IssuerKeysError);
    expect(keys.current).toBe(first);

    issuer.answer = json({ keys: [issuer.key] });
    expect(await keys.otherThan(first)).toBeUndefined();
  });

  it('should say once that keys cannot be fetched, and once that they can again', async () => {
    const keys = issuer.keysOf();
    issuer.answer = json({}, 503);
    for (let i = 0; i < 3; i++) await keys.otherThan(undefined).catch(() => undefined);
    issuer.answer = json({ keys: [issuer.key] });
    const first = await keys.otherThan(undefined);
    for (let i = 0; i < 3; i++) await keys.otherThan(first);
    issuer.answer = json({}, 404);
    for (let i = 0; i < 3; i++) await keys.otherThan(first).catch(() => undefined);

    const cannot = `The keys of the JWT issuer ${issuer.url} cannot be fetched: ${issuer.url}/keys answers`;
    expect(issuer.logged).toEqual([
      `${cannot} 503, should answer 200; redirects are not followed; until they can, JWTs are answered with 50300`,
      `The keys of the JWT issuer ${issuer.url} can be fetched again`,
      `${cannot} 404, should answer 200; redirects are not followed; until they can, the ones known go on being used`,
    ]);
  });

  it('should wait no longer than the time limit, with an answer that is never finished too', async () => {
    const keys = issuer.keysOf({ timeout: 30 });
    const silent = [undefined, ((_request, response) => response.write('{"keys":')) as RequestListener];
    for (const answer of silent) {
      issuer.answer = answer;
      await expect(keys.otherThan(undefined)).rejects.toEqual(failure(/^no answer in 30 ms$/));
    }
  });

  it.each<[string, RequestListener, RegExp]>([
    ['a redirect', (_, response) => response.writeHead(302, { Location: '/keys2' }).end(), /302.*redirects are not/],
    ['no JSON', (_, response) => response.end('<html>'), /\/keys answers with something else than a JSON Web Key Set$/],
    ['no keys', json({}), /something else than a JSON Web Key Set$/],
    ['no key set', json(null), /something else than a JSON Web Key Set$/],
    ['keys that are none', json({ keys: ['key'] }), /something else than a JSON Web Key Set$/],
    ['too much', json({ keys: [], padding: 'x'.repeat(1_048_576) }), /answers with more than 1048576 bytes$/],
  ])('should not take %s for keys', async (_, answer, reason) => {
    issuer.answer = answer;
    await expect(issuer.keysOf().otherThan(undefined)).rejects.toEqual(failure(reason));
    expect(issuer.requests).toEqual(['/keys']);
  });

  describe('whose key set has no key to verify with', () => {
    const none = /\/keys answers with no public key that JWTs can be verified with$/;

    it.each<[string, () => Promise<object[]> | object[]]>([
      ['nothing', () => []],
      ['a private key', async () => [await signingKey('private')]],
      ['a secret', () => [{ kty: 'oct', k: 'c2VjcmV0', kid: 'secret' }]],
      ['a key for encryption', () => [{ ...issuer.key, use: 'enc' }]],
      ['a key of an unknown kind', () => [{ kty: 'GREEN', kid: 'green' }]],
      ['a key of an algorithm that JWTs may not have', () => [{ ...issuer.key, alg: 'ES256K' }]],
      ['a key that is none', () => [{ ...issuer.key, x: 'AA' }]],
      ['a short key', () => [publicJwk(shortKey())]],
      ['several of them', async () => [{ ...issuer.key, x: 'AA' }, await signingKey('private'), publicJwk(shortKey())]],
    ])('should take one with %s for a fetch that failed', async (_, keysOf) => {
      issuer.answer = json({ keys: await keysOf() });
      await expect(issuer.keysOf().otherThan(undefined)).rejects.toEqual(failure(none));
    });

    it('should keep its keys, and say so once', async () => {
      const keys = issuer.keysOf();
      const first = await keys.otherThan(undefined);
      for (const answer of [[], [await signingKey('private')], []]) {
        issuer.answer = json({ keys: answer });
        await expect(keys.otherThan(first)).rejects.toEqual(failure(none));
        expect(keys.current).toBe(first);
      }
      expect(issuer.logged).toEqual([
        `The keys of the JWT issuer ${issuer.url} cannot be fetched: ${issuer.url}/keys answers with no public key that JWTs can be verified with; until they can, the ones known go on being used`,
      ]);
    });

    it('should have the good ones beside those', async () => {
      const bad = [{ kty: 'oct', k: 'c2VjcmV0' }, { ...issuer.key, x: 'AA' }, await signingKey('private')];
      issuer.answer = json({ keys: [...bad, issuer.key] });
      expect(await issuer.keysOf().otherThan(undefined)).toBeDefined();
      expect(issuer.logged).toEqual([]);
    });

    it.each(['RS256', 'PS512', 'ES384', 'EdDSA'])('should take one with a key for %s as it is', async (alg) => {
      const named = publicJwk(await signingKey('new', alg));
      const bare = { ...named, kid: undefined, alg: undefined, use: undefined };
      for (const key of [named, bare]) {
        issuer.answer = json({ keys: [key] });
        expect(await issuer.keysOf().otherThan(undefined)).toBeDefined();
      }
    });
  });

  it('should tell why an issuer cannot be reached', async () => {
    const port = await freePort();
    const keys = issuer.keysOf({}, { issuer: `http://127.0.0.1:${port}`, jwksUrl: `http://127.0.0.1:${port}/keys` });
    await expect(keys.otherThan(undefined)).rejects.toEqual(failure(new RegExp(`ECONNREFUSED 127.0.0.1:${port}$`)));
  });
});
