import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEYS_TIMING } from '../../src/auth/jwt/issuer-keys.js';
import { JwtVerifier } from '../../src/auth/jwt/jwt-verifier.js';
import { freePort } from '../support/http/free-port.js';
import { expectRefusal } from '../support/http/refusal.js';
import { TOKEN } from '../support/http/request.js';
import { publicJwk, type SigningKey } from '../support/tokens/forged-jwt.js';
import { createWith, outcomeOf } from '../support/tokens/jwt-request.js';
import { json } from '../support/tokens/key-server.js';
import { TrustingStore } from '../support/tokens/trusting-store.js';
import { until } from '../support/until.js';

describe(`${JwtVerifier.name}, at an issuer in trouble`, () => {
  let scene: TrustingStore;

  beforeEach(async () => {
    scene = await TrustingStore.prepare();
  });
  afterEach(() => scene[Symbol.asyncDispose]());

  it('should start without it, go on with other tokens, and accept JWTs when it has come', async () => {
    const port = await freePort();
    const [instance, token] = await scene.storeOf(`http://127.0.0.1:${port}`);

    expect(await outcomeOf(instance, TOKEN)).toBe(200);
    for (let i = 0; i < 3; i++) {
      const response = await createWith(instance, token);
      expectRefusal(response, 50300, 'contract');
      expect(response.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[0-9]+$/) });
      expect(response.headers).not.toHaveProperty('www-authenticate');
    }
    expect(await outcomeOf(instance, TOKEN)).toBe(200);

    const issuer = await scene.issuerWith([scene.keys.a], port);
    await until(async () => (await outcomeOf(instance, token)) === 200);
    expect(await outcomeOf(instance, await issuer.token())).toBe(200);
  });

  it('should go on with the keys it knows when it is gone, and answer 50300 to others', async () => {
    const issuer = await scene.issuerWith([scene.keys.a]);
    const [instance, token] = await scene.storeOf(issuer.url);
    expect(await outcomeOf(instance, token)).toBe(200);

    await issuer[Symbol.asyncDispose]();

    await until(async () => (await outcomeOf(instance, issuer.forge({}, {}, scene.keys.b))) === 50300);
    expect(await outcomeOf(instance, token)).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({ sub: 'another' }))).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({}, { kid: 'a' }, scene.keys.b))).toBe(40101);
    expect(await outcomeOf(instance, issuer.forge({ exp: 1 }, {}, scene.keys.b))).toBe(40101);
  });

  it.each<[string, (key: SigningKey) => object[]]>([
    ['none', () => []],
    ['a private one alone', (key) => [key]],
  ])('should go on with the keys it knows if an answer has %s, and take the next ones', async (_, keysOf) => {
    const issuer = await scene.issuerWith([scene.keys.a]);
    const [instance] = await scene.storeOf(issuer.url);
    const token = await issuer.token();
    expect(await outcomeOf(instance, token)).toBe(200);

    issuer.keysAnswer = json({ keys: keysOf(scene.keys.b) });
    const newer = issuer.forge({}, {}, scene.keys.b);
    await until(async () => (await outcomeOf(instance, newer)) === 50300);
    expect(await outcomeOf(instance, token)).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({ sub: 'another' }))).toBe(200);

    issuer.keysAnswer = json({ keys: [publicJwk(scene.keys.b)] });
    await until(async () => (await outcomeOf(instance, newer)) === 200);
    expect(await outcomeOf(instance, token)).toBe(40101);
  });

  it('should wait for one that never answers no longer than it says, once for all', async () => {
    const server = await scene.serverOf();
    const [instance, token] = await scene.storeOf(server.url);
    const begin = performance.now();

    const waiting = Promise.all(Array.from({ length: 10 }, () => outcomeOf(instance, token)));
    await until(() => server.requests.length > 0);
    expect(await outcomeOf(instance, TOKEN)).toBe(200);
    expect(new Set(await waiting)).toEqual(new Set([50300]));
    const waited = performance.now() - begin;
    expect(waited).toBeGreaterThan(KEYS_TIMING.timeoutMs * 0.9);
    expect(waited).toBeLessThan(KEYS_TIMING.timeoutMs * 2);

    // Nobody waits again so soon.
    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(performance.now() - begin).toBeLessThan(KEYS_TIMING.timeoutMs + KEYS_TIMING.cooldownMs);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });

  it('should stop while one never answers, and answer those who wait', async () => {
    const server = await scene.serverOf();
    const [instance, token] = await scene.storeOf(server.url);
    const waiting = outcomeOf(instance, token);
    await until(() => server.requests.length > 0);
    const begin = performance.now();

    await scene.stopStore();

    expect(await waiting).toBe(50300);
    expect(performance.now() - begin).toBeLessThan(KEYS_TIMING.timeoutMs * 2);
  });

  it('should take no keys from the document of another issuer', async () => {
    const issuer = await scene.issuerWith([scene.keys.a]);
    const server = await scene.serverOf(json({ issuer: issuer.url, jwks_uri: issuer.jwksUrl }));
    const [instance, token] = await scene.storeOf(server.url);

    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(await outcomeOf(instance, issuer.forge())).toBe(40101);
    expect(issuer.requests).toEqual([]);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });
});
