import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RequestListener } from 'node:http';
import { freePort } from '../../../test/support/http/free-port.js';
import { publicJwk, shortKey, signingKey } from '../../../test/support/tokens/forged-jwt.js';
import { json } from '../../../test/support/tokens/key-server.js';
import { KeysOwner } from '../../../test/support/tokens/keys-owner.js';
import { until } from '../../../test/support/until.js';
import { IssuerKeys } from './issuer-keys.js';

describe(IssuerKeys.name, () => {
  let issuer: KeysOwner;

  beforeEach(async () => {
    issuer = await KeysOwner.start();
  });
  afterEach(() => issuer[Symbol.asyncDispose]());

  /** Looks for a key that no issuer here has. */
  const findUnknown = async (keys: IssuerKeys): Promise<unknown> => (await keys.open())({ alg: 'ES256', kid: 'none' });
  const failure = (reason: RegExp): Error =>
    expect.objectContaining({
      name: 'IssuerKeysError',
      message: expect.stringMatching(
        new RegExp(`^The keys of the JWT issuer .+ cannot be fetched: .*${reason.source}`),
      ),
    }) as unknown as Error;

  it('should fetch keys anew when they are old, and again sooner if that fails', async () => {
    const keys = issuer.keysOf({ refreshMs: 10, retryMs: 15 });
    await keys.open();
    const first = keys.current;
    issuer.answer = json({}, 503);
    const asked = issuer.requests.length;
    await until(() => issuer.logged.length > 0 && issuer.requests.length >= asked + 2);
    expect(keys.current).toBe(first);

    issuer.answer = json({ keys: [issuer.other] });
    await until(() => keys.current !== first);
  });

  describe('at an issuer in trouble', () => {
    it('should say once that keys cannot be fetched, and once that they can again', async () => {
      const keys = issuer.keysOf();
      issuer.answer = json({}, 503);
      for (let i = 0; i < 3; i++) await keys.open().catch(() => undefined);
      issuer.answer = json({ keys: [issuer.key] });
      for (let i = 0; i < 3; i++) await findUnknown(keys).catch(() => undefined);
      issuer.answer = json({}, 404);
      for (let i = 0; i < 3; i++) await findUnknown(keys).catch(() => undefined);

      const cannot = `The keys of the JWT issuer ${issuer.url} cannot be fetched: ${issuer.url}/keys answers`;
      expect(issuer.logged).toEqual([
        `${cannot} 503, should answer 200; redirects are not followed; until they can, JWTs are answered with 50300`,
        `The keys of the JWT issuer ${issuer.url} can be fetched again`,
        `${cannot} 404, should answer 200; redirects are not followed; until they can, the ones known go on being used`,
      ]);
    });

    it('should wait no longer than the time limit, with an answer that is never finished too', async () => {
      const keys = issuer.keysOf({ timeoutMs: 30 });
      const silent = [undefined, ((_request, response) => response.write('{"keys":')) as RequestListener];
      for (const answer of silent) {
        issuer.answer = answer;
        await expect(keys.open()).rejects.toEqual(failure(/no answer in 30 ms$/));
      }
    });

    it.each<[string, RequestListener, RegExp]>([
      ['a redirect', (_, response) => response.writeHead(302, { Location: '/keys2' }).end(), /302.*redirects are not/],
      ['no JSON', (_, response) => response.end('<html>'), /\/keys answers with something else than JSON$/],
      ['no keys', json({}), /JSON Web Key Set malformed$/],
      ['no key set', json(null), /JSON Web Key Set malformed$/],
      ['invalid keys', json({ keys: ['key'] }), /JSON Web Key Set malformed$/],
      ['too much', json({ keys: [], padding: 'x'.repeat(1_048_576) }), /answers with more than 1048576 bytes$/],
    ])('should not take %s for keys', async (_, answer, reason) => {
      issuer.answer = answer;
      await expect(issuer.keysOf().open()).rejects.toEqual(failure(reason));
      expect(issuer.requests).toEqual(['/keys']);
    });

    it('should say why an issuer cannot be reached', async () => {
      const port = await freePort();
      const keys = issuer.keysOf({}, { issuer: `http://127.0.0.1:${port}`, jwksUrl: `http://127.0.0.1:${port}/keys` });
      await expect(keys.open()).rejects.toEqual(failure(new RegExp(`ECONNREFUSED 127.0.0.1:${port}$`)));
    });
  });

  describe('at an issuer whose key set has no key to verify with', () => {
    const none = /\/keys answers with no public key that JWTs can be verified with$/;

    it.each<[string, () => Promise<object[]> | object[]]>([
      ['nothing', () => []],
      ['a private key', async () => [await signingKey('private')]],
      ['a secret', () => [{ kty: 'oct', k: 'c2VjcmV0', kid: 'secret' }]],
      ['a key for encryption', () => [{ ...issuer.key, use: 'enc' }]],
      ['a key of an unknown kind', () => [{ kty: 'GREEN', kid: 'green' }]],
      ['a key of an algorithm that JWTs may not have', () => [{ ...issuer.key, alg: 'ES256K' }]],
      ['an invalid key', () => [{ ...issuer.key, x: 'AA' }]],
      ['a short key', () => [publicJwk(shortKey())]],
      ['several of them', async () => [{ ...issuer.key, x: 'AA' }, await signingKey('private'), publicJwk(shortKey())]],
    ])('should take one with %s for a fetch that failed', async (_, keysOf) => {
      issuer.answer = json({ keys: await keysOf() });
      await expect(issuer.keysOf().open()).rejects.toEqual(failure(none));
    });

    it('should have the good ones in addition to those', async () => {
      const bad = [{ kty: 'oct', k: 'c2VjcmV0' }, { ...issuer.key, x: 'AA' }, await signingKey('private')];
      issuer.answer = json({ keys: [...bad, issuer.key] });
      expect(await issuer.keysOf().open()).toBeDefined();
      expect(issuer.logged).toEqual([]);
    });

    it.each(['RS256', 'PS512', 'ES384', 'EdDSA'])('should take one with a key for %s as it is', async (alg) => {
      const named = publicJwk(await signingKey('new', alg));
      const bare = { ...named, kid: undefined, alg: undefined, use: undefined };
      for (const key of [named, bare]) {
        issuer.answer = json({ keys: [key] });
        expect(await issuer.keysOf().open()).toBeDefined();
      }
    });
  });

  describe('by discovery', () => {
    const open = (url: string): Promise<unknown> => issuer.keysOf({}, { issuer: url, jwksUrl: undefined }).open();
    /** The discovery document, and at any other path the keys. */
    const discovery =
      (document: unknown): RequestListener =>
      (request, response) => {
        json(request.url?.includes('.well-known') ? document : { keys: [issuer.key] })(request, response);
      };

    it.each([
      ['', '/.well-known/openid-configuration'],
      ['/', '/.well-known/openid-configuration'],
      ['/realms/plants', '/realms/plants/.well-known/openid-configuration'],
      ['/realms/plants/', '/realms/plants/.well-known/openid-configuration'],
    ])('should find the keys of an issuer at %j in its document', async (path, document) => {
      const url = `${issuer.url}${path}`;
      issuer.answer = discovery({ issuer: url, jwks_uri: `${issuer.url}/keys?of=plants` });

      await open(url);

      expect(issuer.requests).toEqual([document, '/keys?of=plants']);
    });

    it.each<[string, unknown, RegExp]>([
      [
        'another issuer',
        { issuer: 'https://evil.example' },
        /names the issuer "https:\/\/evil.example", should name "http.*", exactly so$/,
      ],
      ['no issuer', {}, /names the issuer "undefined", should name/],
      ['an array', [], /names the issuer "undefined", should name/],
      ['null', null, /names the issuer "undefined", should name/],
    ])('should refuse a document of %s', async (_, document, reason) => {
      issuer.answer = discovery(document);
      await expect(open(issuer.url)).rejects.toEqual(failure(reason));
      expect(issuer.requests).toHaveLength(1);
    });

    it('should refuse a document of the same issuer with a slash more', async () => {
      issuer.answer = discovery({ issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/keys` });
      await expect(open(issuer.url)).rejects.toEqual(failure(/names the issuer/));
    });

    it.each([undefined, 5, '/keys', 'file:///etc/passwd', 'https://user:password@id.example.com/keys'])(
      'should refuse keys at %j',
      async (jwksUrl) => {
        issuer.answer = discovery({ issuer: issuer.url, jwks_uri: jwksUrl });
        await expect(open(issuer.url)).rejects.toEqual(
          failure(/has the jwks_uri ".*", should have an http or https URL$/),
        );
        expect(issuer.requests).toHaveLength(1);
      },
    );

    it('should refuse keys over http of an issuer over https', async () => {
      const document = { issuer: 'https://id.example.com', jwks_uri: 'http://id.example.com/keys' };
      const fetch = jest.spyOn(globalThis, 'fetch').mockImplementation(() => Promise.resolve(Response.json(document)));
      try {
        await expect(open('https://id.example.com')).rejects.toEqual(
          failure(/should have an https URL, as the issuer's is$/),
        );
        expect(fetch).toHaveBeenCalledTimes(1);
      } finally {
        fetch.mockRestore();
      }
    });
  });
});
