import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  GARDENER,
  HOUR_MS,
  MINUTE_MS,
  TimedVerifier,
  TIMEOUT_MS,
} from '../../../test/support/tokens/timed-verifier.js';
import { IssuedTokenVerifier } from './issued-token-verifier.js';
import { makeToken } from './token.js';

const AWAY = new Error('connect ECONNREFUSED');

describe(`${IssuedTokenVerifier.name}, while the database is away`, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  /** Makes requests with the token all the time, and expects each to be accepted at once. */
  async function expectAccepted(ms: number): Promise<void> {
    for (let waited = 0; waited < ms; waited += 100) {
      expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
      await timed.wait(100);
    }
  }

  it('should accept a token in use for five minutes without a wait, and not after that', async () => {
    await timed.verdict(timed.token);
    await expectAccepted(1000);
    timed.store.failure = AWAY;
    // The last confirmation may have been up to half a second ago.
    await expectAccepted(299_000);
    await timed.wait(1001);
    expect(await timed.verdict(timed.token, 501)).toBe(AWAY);
    timed.store.failure = undefined;
    await timed.wait(501);
    expect(await timed.verdict(timed.token, 501)).toEqual(GARDENER);
  });

  it('should accept a token in use without a wait if statements hang', async () => {
    await timed.verdict(timed.token);
    await expectAccepted(1000);
    timed.store.hold();
    await expectAccepted(10_000);
  });

  it('should accept a token that was idle once the database cannot confirm it, for five minutes', async () => {
    await timed.verdict(timed.token);
    await timed.wait(2 * MINUTE_MS);
    timed.store.failure = AWAY;
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
    expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
    await timed.wait(4 * MINUTE_MS);
    expect(await timed.verdict(timed.token)).toBe(AWAY);
  });

  it('should accept a token that was idle after two seconds if its look-up hangs', async () => {
    await timed.verdict(timed.token);
    await timed.wait(2 * MINUTE_MS);
    timed.store.hold();
    const asked = timed.ask(timed.token);
    await timed.wait(1999);
    expect(asked.verdict).toBe('pending');
    await timed.wait(1);
    expect(asked.verdict).toEqual(GARDENER);
    expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
  });

  it('should not take an outage of some time ago for one of now', async () => {
    await timed.verdict(timed.token);
    timed.store.failure = AWAY;
    await timed.wait(2 * MINUTE_MS);
    timed.store.failure = undefined;
    timed.store.rows.clear();
    const asked = [timed.ask(timed.token), timed.ask(timed.token)];
    await timed.wait(50);
    expect(asked.map(({ verdict }) => verdict)).toEqual([undefined, undefined]);
  });

  it('should not decide about unknown tokens, at once after a failure, and still refuse what is malformed', async () => {
    timed.store.failure = AWAY;
    expect(await timed.verdict(timed.token, 5)).toBe(AWAY);
    const { length } = timed.store.statements;
    for (let i = 0; i < 100; i++) expect(await timed.verdict(makeToken(), 0)).toBe(AWAY);
    expect(timed.store.statements).toHaveLength(length);
    expect(timed.verifier.verify(`${timed.token.slice(0, -1)}-`)).toBeUndefined();
    timed.store.failure = undefined;
    await timed.wait(500);
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
  });

  it('should let no request wait for longer than the time limit', async () => {
    timed.store.hold();
    const asked = timed.ask(timed.token);
    await timed.wait(TIMEOUT_MS - 1);
    expect(asked.verdict).toBe('pending');
    await timed.wait(1);
    expect(asked.verdict).toMatchObject({ name: 'DatabaseTimeoutError' });
  });

  it('should try again twice a second with a token in use, and not without', async () => {
    timed.store.failure = AWAY;
    await timed.verdict(timed.token);
    const { length } = timed.store.statements;
    await timed.wait(HOUR_MS);
    expect(timed.store.statements).toHaveLength(length);

    timed.store.failure = undefined;
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
    timed.store.failure = AWAY;
    const before = timed.store.statements.length;
    await timed.wait(MINUTE_MS);
    expect(timed.store.statements.length - before).toBeGreaterThan(100);
    expect(timed.store.statements.length - before).toBeLessThan(125);
  });
});
