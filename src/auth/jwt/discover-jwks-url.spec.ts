import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { json, KeyServer } from '../../../test/support/key-server.js';
import { discoverJwksUrl } from './discover-jwks-url.js';

describe(discoverJwksUrl.name, () => {
  const { signal } = new AbortController();
  let server: KeyServer;
  beforeAll(async () => {
    server = await KeyServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each([
    ['', '/.well-known/openid-configuration'],
    ['/', '/.well-known/openid-configuration'],
    ['/realms/plants', '/realms/plants/.well-known/openid-configuration'],
    ['/realms/plants/', '/realms/plants/.well-known/openid-configuration'],
  ])('should find the keys of an issuer at %j in its document', async (path, document) => {
    const issuer = `${server.url}${path}`;
    server.requests.length = 0;
    server.answer = json({ issuer, jwks_uri: 'https://keys.example.com/?of=plants' });

    expect(await discoverJwksUrl(issuer, signal)).toBe('https://keys.example.com/?of=plants');
    expect(server.requests).toEqual([document]);
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
  ])('should refuse a document of %s', async (_, document, message) => {
    server.answer = json(document);
    await expect(discoverJwksUrl(server.url, signal)).rejects.toThrow(message);
  });

  it('should refuse a document of the same issuer with a slash more', async () => {
    server.answer = json({ issuer: `${server.url}/`, jwks_uri: `${server.url}/keys` });
    await expect(discoverJwksUrl(server.url, signal)).rejects.toThrow(/names the issuer/);
  });

  it.each([undefined, 5, '/keys', 'file:///etc/passwd', 'https://user:password@id.example.com/keys'])(
    'should refuse keys at %j',
    async (jwksUrl) => {
      server.answer = json({ issuer: server.url, jwks_uri: jwksUrl });
      await expect(discoverJwksUrl(server.url, signal)).rejects.toThrow(
        /has the jwks_uri ".*", should have an http or https URL$/,
      );
    },
  );

  it('should refuse keys over http of an issuer over https', async () => {
    const document = { issuer: 'https://id.example.com', jwks_uri: 'http://id.example.com/keys' };
    const fetch = jest.spyOn(globalThis, 'fetch').mockImplementation(() => Promise.resolve(Response.json(document)));
    try {
      await expect(discoverJwksUrl('https://id.example.com', signal)).rejects.toThrow(
        /should have an https URL, as the issuer's is$/,
      );
    } finally {
      fetch.mockRestore();
    }
  });

  it('should refuse what is not JSON', async () => {
    server.answer = (_request, response) => response.end('<html>');
    await expect(discoverJwksUrl(server.url, signal)).rejects.toThrow(/answers with something else than JSON$/);
  });
});
