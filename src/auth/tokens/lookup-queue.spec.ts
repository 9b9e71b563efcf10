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
