import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Asked, GARDENER, TimedVerifier } from '../../../test/support/timed-verifier.js';
import { makeToken } from './token-form.js';
import { TokenWatch } from './token-watch.js';

describe(`${TokenWatch.name}, where tokens change`, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  /** Asks for a token that is made, and told of, while it is looked up. The answer is on its way. */
  async function askTooEarly(token: string): Promise<Asked> {
    await timed.verdict(timed.token);
    const answer = timed.store.hold();
    const asked = timed.ask(token);
    await timed.wait(30);
    timed.store.add(token);
    timed.store.events?.changed();
    answer();
    return asked;
  }

  it.each([
    ['was told of it', 60, true],
    ['was not', 600, false],
  ])('should check the cache in good time, if it %s', async (_, ms, told) => {
    await timed.verdict(timed.token);
    timed.store.rows.clear();
    if (told) timed.store.events?.changed();
    await timed.wait(ms);
    expect(await timed.verdict(timed.token)).toBeUndefined();
  });

  it('should make a new principal where its scopes are others', async () => {
    const principal = await timed.verdict(timed.token);
    timed.store.add(timed.token, { id: 1, scopes: [] });
    await timed.wait(600);
    expect(timed.verifier.verify(timed.token)).toEqual({ ...GARDENER, scopes: [] });
    expect(principal).toEqual(GARDENER);
  });

  it('should check what was looked up before a change that it is told of meanwhile', async () => {
    await timed.verdict(makeToken());
    const answer = timed.store.hold();
    const early = timed.ask(timed.token);
    await timed.wait(30);
    timed.store.rows.clear();
    timed.store.events?.changed();
    answer();
    await timed.wait(60);
    // It was right when it was asked for.
    expect(early.verdict).toEqual(GARDENER);
    expect(timed.store.checks).toEqual([1]);
    expect(await timed.verdict(timed.token)).toBeUndefined();
  });

  it('should not take a token for wrong that was made while it was looked up', async () => {
    const late = makeToken();
    const early = await askTooEarly(late);
    const after = timed.ask(late);
    await timed.wait(60);
    expect(early.verdict).toBeUndefined();
    expect(after.verdict).toEqual(GARDENER);
  });

  it('should not remember as wrong what may have been made right while it was looked up', async () => {
    const late = makeToken();
    const early = await askTooEarly(late);
    await timed.wait(60);
    expect(early.verdict).toBeUndefined();
    expect(await timed.verdict(late)).toEqual(GARDENER);
  });

  it('should not answer a request with a look-up that was under way before it', async () => {
    const late = makeToken();
    await timed.verdict(timed.token);
    const answer = timed.store.hold();
    const early = timed.ask(late);
    await timed.wait(30);
    timed.store.add(late);
    const after = timed.ask(late);
    answer();
    await timed.wait(60);
    expect([early.verdict, after.verdict]).toEqual([undefined, GARDENER]);
  });

  it('should not check without end where it is told of changes without end', async () => {
    await timed.verdict(timed.token);
    const before = timed.store.checks.length;
    for (let i = 0; i < 1000; i++) {
      timed.store.events?.changed();
      await timed.wait(1);
    }
    expect(timed.store.checks.length - before).toBeLessThanOrEqual(21);
  });
});
