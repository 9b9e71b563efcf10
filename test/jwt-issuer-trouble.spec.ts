import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { KEYS_TIMING } from '../src/auth/jwt/issuer-keys.js';
import { JwtVerifier } from '../src/auth/jwt/jwt-verifier.js';
import { AUDIENCE, forgeJwt, type SigningKey, signingKey } from './support/forged-jwt.js';
import { freePort } from './support/free-port.js';
import { createWith, outcomeOf } from './support/jwt-request.js';
import { json, KeyServer } from './support/key-server.js';
import { OidcIssuer } from './support/oidc-issuer.js';
import { expectRefusal } from './support/refusal.js';
import { type Store, startStore, TOKEN } from './support/store.js';
import { until } from './support/until.js';

describe(`${JwtVerifier.name}, at an issuer in trouble`, () => {
  let keys: Record<'a' | 'b' | 'c', SigningKey>;
  let store: Store | undefined;
  const running: AsyncDisposable[] = [];
  beforeAll(async () => {
    keys = { a: await signingKey('a'), b: await signingKey('b'), c: await signingKey('c') };
  });
  afterEach(async () => {
    await store?.stop();
    store = undefined;
    for (const issuer of running.splice(0)) await issuer[Symbol.asyncDispose]();
  });

  async function issuerWith(own: [SigningKey, ...SigningKey[]], port?: number): Promise<OidcIssuer> {
    const issuer = await OidcIssuer.start({ keys: own, ...(port !== undefined && { port }) });
    running.push(issuer);
    return issuer;
  }

  async function serverOf(answer?: KeyServer['answer']): Promise<KeyServer> {
    const server = await KeyServer.start(answer);
    running.push(server);
    return server;
  }

  /** A store that trusts this issuer, and a JWT that it might have issued. */
  async function storeOf(url: string, variables: Record<string, string> = {}): Promise<[Store, string]> {
    store = await startStore({ JWT_ISSUER: url, JWT_AUDIENCE: AUDIENCE, WRONG_TOKEN_LIMIT: '0', ...variables });
    return [store, forgeJwt(url, keys.a)];
  }

  it('should start without it, go on with other tokens, and accept JWTs when it has come', async () => {
    const port = await freePort();
    const [instance, token] = await storeOf(`http://127.0.0.1:${port}`);

    expect(await outcomeOf(instance, TOKEN)).toBe(200);
    for (let i = 0; i < 3; i++) {
      const response = await createWith(instance, token);
      expectRefusal(response, 50300, 'contract');
      expect(response.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[0-9]+$/) });
      expect(response.headers).not.toHaveProperty('www-authenticate');
    }
    expect(await outcomeOf(instance, TOKEN)).toBe(200);

    const issuer = await issuerWith([keys.a], port);
    await until(async () => (await outcomeOf(instance, token)) === 200);
    expect(await outcomeOf(instance, await issuer.token())).toBe(200);
  });

  it('should go on with the keys it knows when it is gone, and not tell of others', async () => {
    const issuer = await issuerWith([keys.a]);
    const [instance, token] = await storeOf(issuer.url);
    expect(await outcomeOf(instance, token)).toBe(200);

    await issuer[Symbol.asyncDispose]();

    await until(async () => (await outcomeOf(instance, issuer.forge({}, {}, keys.b))) === 50300);
    expect(await outcomeOf(instance, token)).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({ sub: 'another' }))).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({}, { kid: 'a' }, keys.b))).toBe(40101);
    expect(await outcomeOf(instance, issuer.forge({ exp: 1 }, {}, keys.b))).toBe(40101);
  });

  it('should accept a new key, and the old one as long as the issuer has it', async () => {
    const first = await issuerWith([keys.a]);
    const [instance, old] = await storeOf(first.url);
    expect(await outcomeOf(instance, old)).toBe(200);
    await first[Symbol.asyncDispose]();

    const both = await issuerWith([keys.b, keys.a], first.port);
    const token = await both.token();
    await until(async () => (await outcomeOf(instance, token)) === 200);
    expect(await outcomeOf(instance, old)).toBe(200);
    await both[Symbol.asyncDispose]();

    const third = await issuerWith([keys.c], first.port);
    const next = await third.token();
    await until(async () => (await outcomeOf(instance, next)) === 200);
    expect(await outcomeOf(instance, old)).toBe(40101);
    expect(await outcomeOf(instance, token)).toBe(40101);
  });

  it('should not be made to ask for keys by a flood of JWTs with unknown ones', async () => {
    const issuer = await issuerWith([keys.a]);
    const [instance, token] = await storeOf(issuer.url);
    expect(await outcomeOf(instance, token)).toBe(200);
    const begin = performance.now();

    // Until it has asked, so that it is known to have been made to.
    let sent = 0;
    while (issuer.keyRequests < 2) {
      const strange = Array.from({ length: 20 }, () => issuer.forge({}, { kid: `strange-${sent++}` }, keys.b));
      const outcomes = await Promise.all(strange.map((one) => outcomeOf(instance, one)));
      expect(new Set(outcomes)).toEqual(new Set([40101]));
      expect(await outcomeOf(instance, token)).toBe(200);
    }

    expect(performance.now() - begin).toBeGreaterThan(KEYS_TIMING.cooldown * 0.9);
    expect(sent).toBeGreaterThan(100);
  });

  it('should not be made to ask by them while the issuer is broken either', async () => {
    const server = await serverOf(json({}, 500));
    const [instance, token] = await storeOf(server.url, { JWT_JWKS_URL: `${server.url}/keys` });
    const begin = performance.now();
    let sent = 0;
    while (server.requests.length < 2) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(instance, token)));
      expect(new Set(outcomes)).toEqual(new Set([50300]));
      sent += 20;
    }
    expect(performance.now() - begin).toBeGreaterThan(KEYS_TIMING.cooldown * 0.9);
    expect(sent).toBeGreaterThan(100);
  });

  it('should wait for one that never answers no longer than it says, once for all', async () => {
    const server = await serverOf();
    const [instance, token] = await storeOf(server.url);
    const begin = performance.now();

    const waiting = Promise.all(Array.from({ length: 10 }, () => outcomeOf(instance, token)));
    await until(() => server.requests.length > 0);
    expect(await outcomeOf(instance, TOKEN)).toBe(200);
    expect(new Set(await waiting)).toEqual(new Set([50300]));
    const waited = performance.now() - begin;
    expect(waited).toBeGreaterThan(KEYS_TIMING.timeout * 0.9);
    expect(waited).toBeLessThan(KEYS_TIMING.timeout * 2);

    // Nobody waits again so soon.
    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(performance.now() - begin).toBeLessThan(KEYS_TIMING.timeout + KEYS_TIMING.cooldown);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });

  it('should stop while one never answers, and answer those who wait', async () => {
    const server = await serverOf();
    const [instance, token] = await storeOf(server.url);
    const waiting = outcomeOf(instance, token);
    await until(() => server.requests.length > 0);
    const begin = performance.now();

    await instance.stop();
    store = undefined;

    expect(await waiting).toBe(50300);
    expect(performance.now() - begin).toBeLessThan(KEYS_TIMING.timeout * 2);
  });

  it('should take no keys from the document of another issuer', async () => {
    const issuer = await issuerWith([keys.a]);
    const server = await serverOf(json({ issuer: issuer.url, jwks_uri: issuer.jwksUrl }));
    const [instance, token] = await storeOf(server.url);

    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(await outcomeOf(instance, issuer.forge())).toBe(40101);
    expect(issuer.requests).toEqual([]);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });
});
