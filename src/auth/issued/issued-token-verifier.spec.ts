import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS, TimedVerifier } from '../../../test/support/timed-verifier.js';
import type { Principal } from '../token-verifier.js';
import { IssuedTokenVerifier } from './issued-token-verifier.js';
import { makeToken } from './token-form.js';

const PRINCIPAL = { name: 'gardener', scopes: ['plants:create'], limitKey: 'issued:gardener' };
const AWAY = new Error('connect ECONNREFUSED');

describe(IssuedTokenVerifier.name, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should look a token up once, and then answer at once with the same object, which nobody can change', async () => {
    const principal = await timed.verdict(timed.token);
    expect(principal).toEqual(PRINCIPAL);
    expect(timed.verifier.verify(timed.token)).toBe(principal);
    expect(timed.store.lookups).toEqual([1]);
    expect(Object.isFrozen(principal) && Object.isFrozen((principal as Principal).scopes)).toBe(true);
    await timed.wait(MINUTE_MS);
    expect(timed.verifier.verify(timed.token)).toBe(principal);
  });

  it('should ask nobody about what was never issued', async () => {
    for (const text of [
      '',
      'a-static-token-0123456789',
      `${timed.token}0`,
      `${timed.token.slice(0, -1)}-`,
      `plant_${'0'.repeat(38)}`,
    ]) {
      expect(timed.verifier.verify(text)).toBeUndefined();
    }
    await timed.wait(MINUTE_MS);
    expect(timed.store.opened).toBe(0);
  });

  describe('with a token that expires', () => {
    it('should refuse it from that moment, and ask nobody', async () => {
      const mortal = makeToken();
      timed.store.add(mortal, { remaining: 10_000 });
      const start = performance.now();
      expect(await timed.verdict(mortal, 0)).toEqual(PRINCIPAL);
      timed.store.unreachable = AWAY;
      await timed.wait(9_999 - (performance.now() - start));
      expect(timed.verifier.verify(mortal)).toEqual(PRINCIPAL);
      const { length } = timed.store.lookups;
      await timed.wait(2);
      expect(timed.verifier.verify(mortal)).toBeUndefined();
      expect(timed.store.lookups).toHaveLength(length);
    });

    it('should refuse it for ever with no query, and let it in again once it has more time', async () => {
      timed.store.add(timed.token, { id: 1, remaining: 100 });
      await timed.verdict(timed.token, 0);
      timed.store.add(timed.token, { id: 1, remaining: -1 });
      await timed.wait(MINUTE_MS);
      for (let i = 0; i < 100; i++) expect(timed.verifier.verify(timed.token)).toBeUndefined();
      expect(timed.store.lookups).toEqual([1]);
      timed.store.add(timed.token, { id: 1, remaining: null });
      await timed.wait(600);
      expect(timed.verifier.verify(timed.token)).toEqual(PRINCIPAL);
    });

    it('should refuse one that has expired already, and not keep it', async () => {
      timed.store.add(timed.token, { remaining: -1 });
      expect(await timed.verdict(timed.token)).toBeUndefined();
      expect(timed.verifier.verify(timed.token)).toBeUndefined();
    });
  });

  describe('its connection', () => {
    it('should be closed a while after nothing is left to watch, and made again where it is needed', async () => {
      expect(await timed.verdict(makeToken())).toBeUndefined();
      expect(timed.store.isOpen).toBe(true);
      await timed.wait(10_000);
      expect(timed.store.isOpen).toBe(false);
      expect(await timed.verdict(timed.token)).toEqual(PRINCIPAL);
      expect(timed.store.opened).toBe(2);
    });

    it('should be kept for an hour after the last use of a token', async () => {
      await timed.verdict(timed.token);
      await timed.wait(HOUR_MS / 2);
      void timed.verifier.verify(timed.token);
      await timed.wait(HOUR_MS - 1000);
      expect(timed.store.isOpen).toBe(true);
      await timed.wait(20_000);
      expect(timed.store.isOpen).toBe(false);
      expect(timed.store.checks.at(-1)).toBe(1);
    });

    it('should end with the application, what waits included', async () => {
      await timed.verdict(timed.token);
      timed.store.hold();
      const asked = [timed.ask(makeToken()), timed.ask(makeToken())];
      await timed.wait(30);
      asked.push(timed.ask(makeToken()));
      const stopped = timed.verifier.onApplicationShutdown();
      await timed.wait(1500);
      await stopped;
      expect(timed.store.destroyed).toBe(true);
      expect(asked[2]?.verdict).toMatchObject({ message: expect.stringMatching('shuts down') });
      expect(await timed.verdict(makeToken())).toMatchObject({ message: expect.stringMatching('shut down') });
    });

    it('should end with the application that never needed one', async () => {
      await timed.verifier.onApplicationShutdown();
      expect(timed.store.opened).toBe(0);
    });
  });
});
