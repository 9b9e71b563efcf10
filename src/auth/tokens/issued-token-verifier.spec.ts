import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DAY_MS } from '../../util/options.js';
import { GARDENER, HOUR_MS, MINUTE_MS, TimedVerifier } from '../../../test/support/tokens/timed-verifier.js';
import type { Principal } from '../token-verifier.js';
import { IssuedTokenVerifier } from './issued-token-verifier.js';
import { makeToken } from './token.js';

describe(IssuedTokenVerifier.name, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should look a token up once, and then answer with no promise and the same, frozen object', async () => {
    const principal = await timed.verdict(timed.token);
    expect(principal).toEqual(GARDENER);
    expect(timed.verifier.verify(timed.token)).toBe(principal);
    expect(timed.store.statements).toEqual([1]);
    expect(Object.isFrozen(principal) && Object.isFrozen((principal as Principal).scopes)).toBe(true);
    await timed.wait(MINUTE_MS - 1000);
    expect(timed.verifier.verify(timed.token)).toBe(principal);
  });

  it('should confirm all tokens of the last minute in one statement every half a second, and none after that', async () => {
    const other = makeToken();
    timed.store.add(other);
    await timed.verdict(timed.token);
    await timed.verdict(other);
    timed.store.statements.length = 0;
    await timed.wait(10_000);
    expect(timed.store.statements).toEqual(Array(20).fill(2));
    await timed.wait(MINUTE_MS);
    const { length } = timed.store.statements;
    expect(length).toBeLessThan(125);
    await timed.wait(HOUR_MS);
    expect(timed.store.statements).toHaveLength(length);
  });

  it('should answer for a known token while a look-up hangs', async () => {
    await timed.verdict(timed.token);
    await timed.wait(1000);
    timed.store.hold();
    const unknown = timed.ask(makeToken());
    for (let i = 0; i < 100; i++) {
      expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
      await timed.wait(40);
    }
    expect(unknown.verdict).toBe('pending');
  });

  it('should confirm a token that was idle for more than a minute before it is used again', async () => {
    await timed.verdict(timed.token);
    await timed.wait(2 * MINUTE_MS);
    const { length } = timed.store.statements;
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
    expect(timed.store.statements).toHaveLength(length + 1);

    await timed.wait(2 * MINUTE_MS);
    timed.store.rows.clear();
    const asked = [timed.ask(timed.token), timed.ask(timed.token)];
    await timed.wait(50);
    expect(asked.map(({ verdict }) => verdict)).toEqual([undefined, undefined]);
  });

  describe('with a token that changes', () => {
    it('should refuse it within two seconds, however many guesses come', async () => {
      await timed.verdict(timed.token);
      timed.store.rows.clear();
      for (let i = 0; i < 600; i++) {
        timed.ask(makeToken());
        await timed.wait(1);
      }
      expect(await timed.verdict(timed.token)).toBeUndefined();
    });

    it('should refuse it within two seconds if each statement takes almost a second, that of the last use too', async () => {
      timed.store.delay = 950;
      const asked = timed.ask(timed.token);
      await timed.wait(1);
      // The look-up has not seen it.
      timed.store.rows.clear();
      await timed.wait(1949);
      expect(asked.verdict).toEqual(GARDENER);
      // It is looked up again.
      expect(await timed.verdict(timed.token, 1000)).toBeUndefined();
    });

    it('should not accept it after two seconds because the look-up of another, and then its own, take almost a second', async () => {
      await timed.verdict(timed.token, 5);
      timed.store.rows.clear();
      await timed.wait(490);
      timed.store.delay = 990;
      timed.ask(makeToken());
      await timed.wait(1505);
      const asked = timed.ask(timed.token);
      await timed.wait(0);
      expect(asked.verdict).toBe('pending');
      await timed.wait(500);
      expect(asked.verdict).toBeUndefined();
    });
  });

  describe('with a token that expires', () => {
    it('should refuse it from that moment, without a query', async () => {
      const start = performance.now();
      timed.store.add(timed.token, { id: 1, remaining: 700 });
      expect(await timed.verdict(timed.token, 1)).toEqual(GARDENER);
      timed.store.hold();
      await timed.wait(699 - (performance.now() - start));
      expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
      await timed.wait(2);
      expect(timed.verifier.verify(timed.token)).toBeUndefined();
    });
  });

  describe('the soonest end', () => {
    const DAY_SECONDS = 24 * 3600;

    it('should be that of the tokens in use', async () => {
      expect(timed.verifier.soonestEnd).toBe(Infinity);
      await timed.verdict(timed.token);
      expect(timed.verifier.soonestEnd).toBe(Infinity);
      const [week, day] = [makeToken(), makeToken()];
      timed.store.add(week, { name: 'week', remaining: 7 * DAY_MS });
      timed.store.add(day, { name: 'day', remaining: DAY_MS });
      await timed.verdict(week);
      expect(timed.verifier.soonestEnd).toBeCloseTo(7 * DAY_SECONDS, -1);
      await timed.verdict(day);
      expect(timed.verifier.soonestEnd).toBeCloseTo(DAY_SECONDS, -1);
      timed.store.rows.delete(day);
      await timed.wait(600);
      expect(timed.verifier.soonestEnd).toBeCloseTo(7 * DAY_SECONDS, -1);
      await timed.wait(2 * MINUTE_MS);
      expect(timed.verifier.soonestEnd).toBe(Infinity);
    });

    it('should be that of the successor if a token was rotated', async () => {
      timed.store.add(timed.token, { id: 1, remaining: HOUR_MS });
      await timed.verdict(timed.token);
      const successor = makeToken();
      timed.store.add(successor, { remaining: 90 * DAY_MS });
      await timed.verdict(successor);
      expect(timed.verifier.soonestEnd).toBeCloseTo(90 * DAY_SECONDS, -1);
    });
  });

  describe('the last use', () => {
    it('should be recorded at most once a minute', async () => {
      await timed.verdict(timed.token);
      await timed.wait(1000);
      expect(timed.store.uses).toEqual([{ id: 1, age: expect.any(Number) }]);
      for (let second = 0; second < 300; second++) {
        void timed.verifier.verify(timed.token);
        await timed.wait(1000);
      }
      expect(timed.store.uses.length).toBeGreaterThanOrEqual(5);
      expect(timed.store.uses.length).toBeLessThanOrEqual(6);
      await timed.wait(HOUR_MS / 2);
      expect(timed.store.uses.length).toBeLessThanOrEqual(6);
    });

    it('should be recorded if each use comes after a pause', async () => {
      for (let use = 1; use <= 3; use++) {
        await timed.verdict(timed.token);
        await timed.wait(5 * MINUTE_MS);
        expect(timed.store.uses).toHaveLength(use);
      }
    });

    it('should be recorded for a token that is revoked before', async () => {
      await timed.verdict(timed.token);
      await timed.wait(MINUTE_MS - 10_000);
      void timed.verifier.verify(timed.token);
      await timed.wait(1000);
      expect(timed.store.uses).toHaveLength(1);
      await timed.wait(15_000);
      void timed.verifier.verify(timed.token);
      timed.store.rows.delete(timed.token);
      await timed.wait(2000);
      expect(timed.store.uses).toHaveLength(2);
      expect(await timed.verdict(timed.token)).toBeUndefined();
    });

    it('should not matter if it can not be recorded, and be tried again', async () => {
      timed.store.useFailure = new Error('permission denied');
      await timed.verdict(timed.token);
      await timed.wait(MINUTE_MS - 1000);
      expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
      timed.store.useFailure = undefined;
      await timed.wait(MINUTE_MS - 1000);
      expect(timed.store.uses).toHaveLength(1);
    });
  });

  describe('with the end of the application', () => {
    it('should record the last use, and close the connection', async () => {
      await timed.verdict(timed.token, 600);
      await timed.wait(MINUTE_MS - 5000);
      void timed.verifier.verify(timed.token);
      await timed.wait(6000);
      const { length } = timed.store.uses;
      void timed.verifier.verify(timed.token);
      await timed.verifier.onApplicationShutdown();
      expect(timed.store.uses.length).toBeGreaterThanOrEqual(length);
      expect(timed.store.isConnected).toBe(false);
    });

    it('should answer what waits, and give up a statement that hangs', async () => {
      await timed.verdict(timed.token);
      timed.store.hold();
      timed.ask(makeToken());
      await timed.wait(30);
      const waiting = timed.ask(makeToken());
      const stopped = timed.verifier.onApplicationShutdown();
      await timed.wait(1500);
      await stopped;
      expect(timed.store.isDestroyed).toBe(true);
      expect(waiting.verdict).toMatchObject({ message: expect.stringMatching('shuts down') });
      expect(await timed.verdict(makeToken())).toMatchObject({ message: expect.stringMatching('shut down') });
    });

    it('should connect to nothing if that was not needed', async () => {
      await timed.verifier.onApplicationShutdown();
      expect(timed.store.statements).toEqual([]);
    });
  });
});
