import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GARDENER, TimedVerifier } from '../../../test/support/tokens/timed-verifier.js';
import { LookupQueue } from './lookup-queue.js';
import { makeToken } from './token.js';

describe(LookupQueue.name, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should look up all tokens that wait in one statement', async () => {
    const tokens = Array.from({ length: 100 }, makeToken);
    for (const token of tokens) timed.store.add(token);
    const asked = tokens.map((token) => timed.ask(token));
    await timed.wait(5);
    expect(asked.every(({ verdict }) => (verdict as { name: string }).name === 'gardener')).toBe(true);
    expect(timed.store.statements).toEqual([100]);
  });

  it('should look up one token once, however many requests wait for it', async () => {
    const asked = Array.from({ length: 100 }, () => timed.ask(timed.token));
    await timed.wait(5);
    expect(new Set(asked.map(({ verdict }) => verdict)).size).toBe(1);
    expect(asked[0]?.verdict).toEqual(GARDENER);
    expect(timed.store.statements).toEqual([1]);
  });

  it('should look up in the next statement what comes during one, and answer it with nothing older', async () => {
    const late = makeToken();
    const answer = timed.store.hold();
    const early = timed.ask(late);
    await timed.wait(10);
    timed.store.add(late);
    const after = [timed.ask(late), timed.ask(makeToken())];
    answer();
    await timed.wait(30);
    expect(early.verdict).toBeUndefined();
    expect(after.map(({ verdict }) => verdict)).toEqual([GARDENER, undefined]);
    expect(timed.store.statements).toEqual([1, 2]);
  });

  it('should look up thousands of tokens with few statements', async () => {
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
    const asked = Array.from({ length: 3000 }, () => timed.ask(makeToken()));
    await timed.wait(200);
    expect(asked.every(({ verdict }) => verdict === undefined)).toBe(true);
    expect(timed.store.statements.slice(1)).toEqual([500, 500, 500, 500, 500, 500]);
    expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
  });

  it('should send 50 look-ups a second at most, whatever comes', async () => {
    for (let i = 0; i < 1000; i++) {
      timed.ask(makeToken());
      await timed.wait(1);
    }
    // And two confirmations.
    expect(timed.store.statements.length).toBeLessThanOrEqual(53);
    expect(timed.store.statements.length).toBeGreaterThan(35);
  });

  it('should refuse more than 10,000 requests that wait, and not those with a known token', async () => {
    await timed.verdict(timed.token);
    const answer = timed.store.hold();
    const first = timed.ask(makeToken());
    await timed.wait(30);
    const others = Array.from({ length: 9999 }, () => timed.ask(makeToken()));
    expect(await timed.verdict(makeToken())).toMatchObject({ message: expect.stringMatching(/^too many requests/) });
    expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
    answer();
    await timed.wait(1000);
    expect([first, ...others].every(({ verdict }) => verdict === undefined)).toBe(true);
    expect(await timed.verdict(makeToken())).toBeUndefined();
  });

  it('should not grow if requests give up before their tokens are looked up', async () => {
    await timed[Symbol.asyncDispose]();
    timed = new TimedVerifier({ timeout: 10 });
    timed.store.hold();
    for (let i = 0; i < 2; i++) {
      for (let request = 0; request < 6000; request++) timed.ask(makeToken());
      await timed.wait(10);
    }
    expect(await timed.verdict(makeToken(), 0)).toMatchObject({ message: expect.stringMatching(/^too many requests/) });
  });

  it('should take a token that was known first, and never refuse it for others', async () => {
    await timed.verdict(timed.token);
    // Long enough that it has to be confirmed before it is used again.
    await timed.wait(70_000);
    const answer = timed.store.hold();
    timed.ask(makeToken());
    await timed.wait(30);
    Array.from({ length: 9999 }, () => timed.ask(makeToken()));
    expect(await timed.verdict(makeToken(), 0)).toMatchObject({ message: expect.stringMatching(/^too many requests/) });
    const known = timed.ask(timed.token);
    answer();
    await timed.wait(30);
    expect(known.verdict).toEqual(GARDENER);
  });
});
