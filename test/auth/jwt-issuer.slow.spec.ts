import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { freePort } from '../support/http/free-port.js';
import { expectRefusal } from '../support/http/refusal.js';
import { TOKEN } from '../support/http/request.js';
import { createWith, outcomeOf } from '../support/tokens/jwt-request.js';
import { json } from '../support/tokens/key-server.js';
import { TrustingStore } from '../support/tokens/trusting-store.js';
import { until } from '../support/until.js';

/** From one fetch of keys to the next, and the limit of a fetch. */
const COOLDOWN_MS = 5000;
const FETCH_TIMEOUT_MS = 5000;
/** At once: a slow machine may send few more before the issuer is asked again. */
const MANY = 100;

describe(`${JwtVerifier.name}, and its issuer`, () => {
  let scene: TrustingStore;

  beforeEach(async () => {
    scene = await TrustingStore.prepare();
  });
  afterEach(() => scene[Symbol.asyncDispose]());

  it('should start without it, go on with other tokens, and accept JWTs when it has come', async () => {
    const port = await freePort();
    const [instance, token] = await scene.storeOf(`http://127.0.0.1:${port}`);
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

  it('should accept a new key, and the old one as long as the issuer has it', async () => {
    const first = await scene.issuerWith([scene.keys.a]);
    const [instance, old] = await scene.storeOf(first.url);
    expect(await outcomeOf(instance, old)).toBe(200);
    await first[Symbol.asyncDispose]();

    const both = await scene.issuerWith([scene.keys.b, scene.keys.a], first.port);
    const token = await both.token();
    await until(async () => (await outcomeOf(instance, token)) === 200);
    expect(await outcomeOf(instance, both.forge({}, {}, scene.keys.a))).toBe(200);
    await both[Symbol.asyncDispose]();

    const third = await scene.issuerWith([scene.keys.c], first.port);
    const next = await third.token();
    await until(async () => (await outcomeOf(instance, next)) === 200);
    expect(await outcomeOf(instance, third.forge({}, {}, scene.keys.a))).toBe(40101);
  });

  it('should go on with the keys it knows when it is gone, and answer 50300 to others', async () => {
    const issuer = await scene.issuerWith([scene.keys.a]);
    const [instance, token] = await scene.storeOf(issuer.url);
    expect(await outcomeOf(instance, token)).toBe(200);

    await issuer[Symbol.asyncDispose]();

    await until(async () => (await outcomeOf(instance, issuer.forge({}, {}, scene.keys.b))) === 50300);
    expect(await outcomeOf(instance, issuer.forge({ sub: 'another' }))).toBe(200);
    expect(await outcomeOf(instance, issuer.forge({}, { kid: 'a' }, scene.keys.b))).toBe(40101);
    expect(await outcomeOf(instance, issuer.forge({ exp: 1 }, {}, scene.keys.b))).toBe(40101);
  });

  it('should not be made to ask for keys by a flood of JWTs with unknown ones', async () => {
    const issuer = await scene.issuerWith([scene.keys.a]);
    const [instance, token] = await scene.storeOf(issuer.url);
    expect(await outcomeOf(instance, token)).toBe(200);
    const begin = performance.now();

    // Until it has asked, so that it is known to have been made to.
    let sent = 0;
    while (issuer.keyRequests < 2) {
      const strange = Array.from({ length: sent === 0 ? MANY : 20 }, () =>
        issuer.forge({}, { kid: `strange-${sent++}` }, scene.keys.b),
      );
      const outcomes = await Promise.all(strange.map((one) => outcomeOf(instance, one)));
      expect(new Set(outcomes)).toEqual(new Set([40101]));
      expect(await outcomeOf(instance, token)).toBe(200);
    }
    expect(performance.now() - begin).toBeGreaterThan(COOLDOWN_MS * 0.9);
    expect(sent).toBeGreaterThan(MANY);
  });

  it('should not be asked for each JWT while it is broken either', async () => {
    const server = await scene.serverOf(json({}, 500));
    const [instance, token] = await scene.storeOf(server.url, { JWT_JWKS_URL: `${server.url}/keys` });
    const begin = performance.now();
    while (server.requests.length < 2) {
      const outcomes = await Promise.all(Array.from({ length: MANY }, () => outcomeOf(instance, token)));
      expect(new Set(outcomes)).toEqual(new Set([50300]));
    }
    expect(performance.now() - begin).toBeGreaterThan(COOLDOWN_MS * 0.9);
  });

  it('should be waited for no longer than five seconds if it never answers, once for all', async () => {
    const server = await scene.serverOf();
    const [instance, token] = await scene.storeOf(server.url);
    const begin = performance.now();
    const waiting = Promise.all(Array.from({ length: 10 }, () => outcomeOf(instance, token)));
    await until(() => server.requests.length > 0);
    expect(await outcomeOf(instance, TOKEN)).toBe(200);
    expect(new Set(await waiting)).toEqual(new Set([50300]));
    const waited = performance.now() - begin;
    expect(waited).toBeGreaterThan(FETCH_TIMEOUT_MS * 0.9);
    expect(waited).toBeLessThan(FETCH_TIMEOUT_MS * 2);
    // Nobody waits again so soon.
    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });

  it.each<[string, (url: string) => object]>([
    ['of another issuer', (url) => ({ issuer: `${url}/`, jwks_uri: `${url}/jwks` })],
    ['with another kind of address for its keys', (url) => ({ issuer: url, jwks_uri: 'file:///etc/keys' })],
  ])('should have no keys taken from a document %s', async (_, documentOf) => {
    const server = await scene.serverOf();
    server.answer = json(documentOf(server.url));
    const [instance, token] = await scene.storeOf(server.url);
    expect(await outcomeOf(instance, token)).toBe(50300);
    expect(server.requests).toEqual(['/.well-known/openid-configuration']);
  });
});
