import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { FakeTokenStore } from '../../../test/support/fake-token-store.js';
import type { Principal } from '../principal.js';
import { IssuedTokenVerifier } from './issued-token-verifier.js';
import { TRUST_MS } from './issued-token.js';
import { makeToken } from './token-form.js';

const TIMEOUT_MS = 5000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PRINCIPAL = { name: 'gardener', scopes: ['plants:create'], limitKey: 'issued:gardener' };
const AWAY = new Error('connect ECONNREFUSED');

describe(IssuedTokenVerifier.name, () => {
  let store: FakeTokenStore;
  let verifier: IssuedTokenVerifier;
  let token: string;

  beforeEach(() => {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    store = new FakeTokenStore();
    token = makeToken();
    store.add(token);
    verifier = new IssuedTokenVerifier({ url: 'postgresql://db/plants', timeout: TIMEOUT_MS }, store);
  });
  afterEach(async () => {
    await jest.advanceTimersByTimeAsync(TIMEOUT_MS);
    jest.useRealTimers();
    Logger.overrideLogger(true);
  });

  const wait = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  type Verdict = Principal | Error | undefined;
  /** What comes of it, or `pending`. */
  function ask(text: string): { verdict: Verdict | 'pending' } {
    const asked: { verdict: Verdict | 'pending' } = { verdict: 'pending' };
    const settle = async (): Promise<void> => {
      try {
        asked.verdict = await verifier.verify(text);
      } catch (error) {
        asked.verdict = error as Error;
      }
    };
    void settle();
    return asked;
  }
  async function verdict(text: string, ms = 50): Promise<Verdict | 'pending'> {
    const asked = ask(text);
    await wait(ms);
    return asked.verdict;
  }

  it('should look a token up once, and then answer at once with the same object, which nobody can change', async () => {
    const principal = await verdict(token);
    expect(principal).toEqual(PRINCIPAL);
    expect(verifier.verify(token)).toBe(principal);
    expect(store.lookups).toEqual([1]);
    expect(Object.isFrozen(principal) && Object.isFrozen((principal as Principal).scopes)).toBe(true);
    await wait(MINUTE_MS);
    expect(verifier.verify(token)).toBe(principal);
  });

  it('should ask nobody about what was never issued', async () => {
    for (const text of [
      '',
      'a-static-token-0123456789',
      `${token}0`,
      `${token.slice(0, -1)}-`,
      `plant_${'0'.repeat(38)}`,
    ]) {
      expect(verifier.verify(text)).toBeUndefined();
    }
    await wait(MINUTE_MS);
    expect(store.opened).toBe(0);
  });

  describe('with tokens that are wrong', () => {
    it('should ask once a second about one', async () => {
      const wrong = makeToken();
      expect(await verdict(wrong)).toBeUndefined();
      for (let i = 0; i < 100; i++) expect(verifier.verify(wrong)).toBeUndefined();
      expect(store.lookups).toEqual([1]);
      await wait(1000);
      expect(await verdict(wrong)).toBeUndefined();
      expect(store.lookups).toEqual([1, 1]);
    });

    it('should ask about thousands with few queries', async () => {
      expect(await verdict(token)).toEqual(PRINCIPAL);
      const asked = Array.from({ length: 3000 }, () => ask(makeToken()));
      await wait(200);
      expect(asked.every((each) => each.verdict === undefined)).toBe(true);
      expect(store.lookups.slice(1)).toEqual([500, 500, 500, 500, 500, 500]);
      expect(verifier.verify(token)).toEqual(PRINCIPAL);
    });

    it('should ask 50 times a second at most, whatever comes', async () => {
      for (let i = 0; i < 1000; i++) {
        ask(makeToken());
        await wait(1);
      }
      expect(store.lookups.length).toBeLessThanOrEqual(51);
      expect(store.lookups.length).toBeGreaterThan(40);
    });

    it('should go on checking the right ones', async () => {
      await verdict(token);
      store.rows.clear();
      const release = setInterval(() => ask(makeToken()), 1);
      await wait(600);
      clearInterval(release);
      expect(await verdict(token)).toBeUndefined();
    });

    it('should say that it can not tell where too many wait', async () => {
      await verdict(token);
      const answer = store.hold();
      const first = ask(makeToken());
      await wait(50);
      const others = Array.from({ length: 9999 }, () => ask(makeToken()));
      expect(await verdict(makeToken())).toMatchObject({ name: 'TooManyLookupsError' });
      expect(verifier.verify(token)).toEqual(PRINCIPAL);
      answer();
      await wait(1000);
      expect([first, ...others].every((each) => each.verdict === undefined)).toBe(true);
      expect(await verdict(makeToken())).toBeUndefined();
    });
  });

  describe('where tokens change', () => {
    it.each([
      ['was told of it', 60, true],
      ['was not', 600, false],
    ])('should check the cache in good time, if it %s', async (_, ms, told) => {
      await verdict(token);
      store.rows.clear();
      if (told) store.events?.changed();
      await wait(ms);
      expect(await verdict(token)).toBeUndefined();
    });

    it('should make a new principal where its scopes are others', async () => {
      const principal = await verdict(token);
      store.add(token, { id: 1, scopes: [] });
      await wait(600);
      expect(verifier.verify(token)).toEqual({ ...PRINCIPAL, scopes: [] });
      expect(principal).toEqual(PRINCIPAL);
    });

    it('should check what was looked up before a change that it is told of meanwhile', async () => {
      await verdict(makeToken());
      const answer = store.hold();
      const early = ask(token);
      await wait(30);
      store.rows.clear();
      store.events?.changed();
      answer();
      await wait(60);
      // It was right when it was asked for.
      expect(early.verdict).toEqual(PRINCIPAL);
      expect(store.checks).toEqual([1]);
      expect(await verdict(token)).toBeUndefined();
    });

    it('should not take a token for wrong that was made while it was looked up', async () => {
      const late = makeToken();
      await verdict(token);
      const answer = store.hold();
      const early = ask(late);
      await wait(30);
      store.add(late);
      store.events?.changed();
      answer();
      const after = ask(late);
      await wait(60);
      expect(early.verdict).toBeUndefined();
      expect(after.verdict).toEqual(PRINCIPAL);
    });

    it('should not remember as wrong what may have been made right while it was looked up', async () => {
      const late = makeToken();
      await verdict(token);
      const answer = store.hold();
      const early = ask(late);
      await wait(30);
      store.add(late);
      store.events?.changed();
      answer();
      await wait(60);
      expect(early.verdict).toBeUndefined();
      expect(await verdict(late)).toEqual(PRINCIPAL);
    });

    it('should not answer a request with a look-up that was under way before it', async () => {
      const late = makeToken();
      await verdict(token);
      const answer = store.hold();
      const early = ask(late);
      await wait(30);
      store.add(late);
      const after = ask(late);
      answer();
      await wait(60);
      expect([early.verdict, after.verdict]).toEqual([undefined, PRINCIPAL]);
    });

    it('should not check without end where it is told of changes without end', async () => {
      await verdict(token);
      const before = store.checks.length;
      for (let i = 0; i < 1000; i++) {
        store.events?.changed();
        await wait(1);
      }
      expect(store.checks.length - before).toBeLessThanOrEqual(21);
    });
  });

  describe('with a token that expires', () => {
    it('should refuse it from that moment, and ask nobody', async () => {
      const mortal = makeToken();
      store.add(mortal, { remaining: 10_000 });
      const start = performance.now();
      expect(await verdict(mortal, 0)).toEqual(PRINCIPAL);
      store.unreachable = AWAY;
      await wait(9_999 - (performance.now() - start));
      expect(verifier.verify(mortal)).toEqual(PRINCIPAL);
      const { length } = store.lookups;
      await wait(2);
      expect(verifier.verify(mortal)).toBeUndefined();
      expect(store.lookups).toHaveLength(length);
    });

    it('should refuse it for ever with no query, and let it in again once it has more time', async () => {
      store.add(token, { id: 1, remaining: 100 });
      await verdict(token, 0);
      store.add(token, { id: 1, remaining: -1 });
      await wait(MINUTE_MS);
      for (let i = 0; i < 100; i++) expect(verifier.verify(token)).toBeUndefined();
      expect(store.lookups).toEqual([1]);
      store.add(token, { id: 1, remaining: null });
      await wait(600);
      expect(verifier.verify(token)).toEqual(PRINCIPAL);
    });

    it('should refuse one that has expired already, and not keep it', async () => {
      store.add(token, { remaining: -1 });
      expect(await verdict(token)).toBeUndefined();
      expect(verifier.verify(token)).toBeUndefined();
    });
  });

  describe('where the database is away', () => {
    it('should answer for five minutes as before, and not at all after that', async () => {
      await verdict(token);
      store.unreachable = AWAY;
      // The last check may have been up to half a second ago.
      await wait(TRUST_MS - 1000);
      expect(verifier.verify(token)).toEqual(PRINCIPAL);
      await wait(1001);
      expect(await verdict(token)).toBe(AWAY);
      store.unreachable = undefined;
      await wait(1001);
      expect(await verdict(token)).toEqual(PRINCIPAL);
    });

    it('should say at once that it can not tell about others, and still refuse what is malformed', async () => {
      store.unreachable = AWAY;
      expect(await verdict(token, 0)).toBe(AWAY);
      expect(await verdict(makeToken(), 0)).toBe(AWAY);
      expect(verifier.verify(`${token.slice(0, -1)}-`)).toBeUndefined();
    });

    it('should try again with a token to watch, and not without', async () => {
      store.unreachable = AWAY;
      await verdict(token);
      const { opened } = store;
      await wait(HOUR_MS);
      expect(store.opened).toBe(opened);

      store.unreachable = undefined;
      expect(await verdict(token)).toEqual(PRINCIPAL);
      store.unreachable = AWAY;
      const before = store.opened;
      await wait(MINUTE_MS);
      expect(store.opened - before).toBeGreaterThan(55);
      expect(store.opened - before).toBeLessThan(75);
    });

    it('should look up on another connection what one that broke did not answer', async () => {
      await verdict(token);
      const other = makeToken();
      store.add(other);
      const answer = store.hold();
      const asked = ask(other);
      await wait(30);
      store.break(new Error('terminated'));
      answer();
      await wait(50);
      expect(asked.verdict).toEqual(PRINCIPAL);
      expect(store.opened).toBe(2);
    });

    it('should check everything as soon as it is connected again', async () => {
      await verdict(token);
      store.rows.clear();
      store.break(new Error('terminated'));
      await wait(5);
      expect(store.checks).toEqual([1]);
      expect(await verdict(token)).toBeUndefined();
    });

    it('should let nobody wait for longer than the time limit', async () => {
      store.hold();
      const asked = ask(token);
      await wait(TIMEOUT_MS - 1);
      expect(asked.verdict).toBe('pending');
      await wait(1);
      expect(asked.verdict).toMatchObject({ name: 'DatabaseTimeoutError' });
    });

    it('should not give up the connection for a statement that is rejected', async () => {
      const rejection = new Error('permission denied');
      store.rejection = rejection;
      expect(await verdict(token)).toBe(rejection);
      expect(await verdict(token)).toBe(rejection);
      expect(store.opened).toBe(1);
      store.rejection = undefined;
      expect(await verdict(token)).toEqual(PRINCIPAL);
    });
  });

  describe('its records of use', () => {
    it('should be made at most once a minute', async () => {
      await verdict(token);
      await wait(1000);
      expect(store.uses).toEqual([{ id: 1, age: expect.any(Number) }]);
      for (let second = 0; second < 300; second++) {
        void verifier.verify(token);
        await wait(1000);
      }
      expect(store.uses.length).toBeGreaterThanOrEqual(5);
      expect(store.uses.length).toBeLessThanOrEqual(6);
      await wait(HOUR_MS / 2);
      expect(store.uses.length).toBeLessThanOrEqual(6);
    });

    it('should not matter where they can not be made, and be tried again', async () => {
      store.useRejection = new Error('permission denied');
      await verdict(token);
      await wait(MINUTE_MS);
      expect(verifier.verify(token)).toEqual(PRINCIPAL);
      expect(store.opened).toBe(1);
      store.useRejection = undefined;
      await wait(MINUTE_MS);
      expect(store.uses).toHaveLength(1);
    });

    it('should be made a last time at the end', async () => {
      await verdict(token, 5);
      expect(store.uses).toEqual([]);
      await verifier.onApplicationShutdown();
      expect(store.uses).toEqual([{ id: 1, age: expect.any(Number) }]);
      expect(store.isOpen).toBe(false);
    });
  });

  describe('its connection', () => {
    it('should be closed a while after nothing is left to watch, and made again where it is needed', async () => {
      expect(await verdict(makeToken())).toBeUndefined();
      expect(store.isOpen).toBe(true);
      await wait(10_000);
      expect(store.isOpen).toBe(false);
      expect(await verdict(token)).toEqual(PRINCIPAL);
      expect(store.opened).toBe(2);
    });

    it('should be kept for an hour after the last use of a token', async () => {
      await verdict(token);
      await wait(HOUR_MS / 2);
      void verifier.verify(token);
      await wait(HOUR_MS - 1000);
      expect(store.isOpen).toBe(true);
      await wait(20_000);
      expect(store.isOpen).toBe(false);
      expect(store.checks.at(-1)).toBe(1);
    });

    it('should end with the application, what waits included', async () => {
      await verdict(token);
      store.hold();
      const asked = [ask(makeToken()), ask(makeToken())];
      await wait(30);
      asked.push(ask(makeToken()));
      const stopped = verifier.onApplicationShutdown();
      await wait(1500);
      await stopped;
      expect(store.destroyed).toBe(true);
      expect(asked[2]?.verdict).toMatchObject({ message: expect.stringMatching('shuts down') });
      expect(await verdict(makeToken())).toMatchObject({ message: expect.stringMatching('shut down') });
    });

    it('should end with the application that never needed one', async () => {
      await verifier.onApplicationShutdown();
      expect(store.opened).toBe(0);
    });
  });
});
