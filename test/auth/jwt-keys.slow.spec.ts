import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEYS_TIMING } from '../../src/auth/jwt/issuer-keys.js';
import { JwtVerifier } from '../../src/auth/jwt/jwt-verifier.js';
import { outcomeOf } from '../support/tokens/jwt-request.js';
import { json } from '../support/tokens/key-server.js';
import { TrustingStore } from '../support/tokens/trusting-store.js';
import { until } from '../support/until.js';

/** At once: a slow machine may send few more before the issuer is asked again. */
const MANY = 100;

describe(`${JwtVerifier.name}, and the keys of its issuer`, () => {
  let scene: TrustingStore;

  beforeEach(async () => {
    scene = await TrustingStore.prepare();
  });
  afterEach(() => scene[Symbol.asyncDispose]());

  it('should accept a new key, and the old one as long as the issuer has it', async () => {
    const first = await scene.issuerWith([scene.keys.a]);
    const [instance, old] = await scene.storeOf(first.url);
    expect(await outcomeOf(instance, old)).toBe(200);
    await first[Symbol.asyncDispose]();

    const both = await scene.issuerWith([scene.keys.b, scene.keys.a], first.port);
    const token = await both.token();
    await until(async () => (await outcomeOf(instance, token)) === 200);
    expect(await outcomeOf(instance, old)).toBe(200);
    await both[Symbol.asyncDispose]();

    const third = await scene.issuerWith([scene.keys.c], first.port);
    const next = await third.token();
    await until(async () => (await outcomeOf(instance, next)) === 200);
    expect(await outcomeOf(instance, old)).toBe(40101);
    expect(await outcomeOf(instance, token)).toBe(40101);
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

    expect(performance.now() - begin).toBeGreaterThan(KEYS_TIMING.cooldownMs * 0.9);
    expect(sent).toBeGreaterThan(MANY);
  });

  it('should not be made to ask by them while the issuer is broken either', async () => {
    const server = await scene.serverOf(json({}, 500));
    const [instance, token] = await scene.storeOf(server.url, { JWT_JWKS_URL: `${server.url}/keys` });
    const begin = performance.now();
    let sent = 0;
    while (server.requests.length < 2) {
      const outcomes = await Promise.all(
        Array.from({ length: sent === 0 ? MANY : 20 }, () => outcomeOf(instance, token)),
      );
      expect(new Set(outcomes)).toEqual(new Set([50300]));
      sent += outcomes.length;
    }
    expect(performance.now() - begin).toBeGreaterThan(KEYS_TIMING.cooldownMs * 0.9);
    expect(sent).toBeGreaterThan(MANY);
  });
});
