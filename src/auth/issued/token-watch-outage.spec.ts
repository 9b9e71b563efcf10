import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GARDENER, HOUR_MS, MINUTE_MS, TIMEOUT_MS, TimedVerifier } from '../../../test/support/timed-verifier.js';
import { makeToken } from './token-form.js';
import { TokenWatch } from './token-watch.js';

const AWAY = new Error('connect ECONNREFUSED');

describe(`${TokenWatch.name}, where the database is away`, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should answer for five minutes as before, and not at all after that', async () => {
    await timed.verdict(timed.token);
    timed.store.unreachable = AWAY;
    // The last check may have been up to half a second ago.
    await timed.wait(299_000);
    expect(timed.verifier.verify(timed.token)).toEqual(GARDENER);
    await timed.wait(1001);
    expect(await timed.verdict(timed.token)).toBe(AWAY);
    timed.store.unreachable = undefined;
    await timed.wait(1001);
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
  });

  it('should say at once that it can not tell about others, and still refuse what is malformed', async () => {
    timed.store.unreachable = AWAY;
    expect(await timed.verdict(timed.token, 0)).toBe(AWAY);
    expect(await timed.verdict(makeToken(), 0)).toBe(AWAY);
    expect(timed.verifier.verify(`${timed.token.slice(0, -1)}-`)).toBeUndefined();
  });

  it('should try again with a token to watch, and not without', async () => {
    timed.store.unreachable = AWAY;
    await timed.verdict(timed.token);
    const { opened } = timed.store;
    await timed.wait(HOUR_MS);
    expect(timed.store.opened).toBe(opened);

    timed.store.unreachable = undefined;
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
    timed.store.unreachable = AWAY;
    const before = timed.store.opened;
    await timed.wait(MINUTE_MS);
    expect(timed.store.opened - before).toBeGreaterThan(55);
    expect(timed.store.opened - before).toBeLessThan(75);
  });

  it('should look up on another connection what one that broke did not answer', async () => {
    await timed.verdict(timed.token);
    const other = makeToken();
    timed.store.add(other);
    const answer = timed.store.hold();
    const asked = timed.ask(other);
    await timed.wait(30);
    timed.store.break(new Error('terminated'));
    answer();
    await timed.wait(50);
    expect(asked.verdict).toEqual(GARDENER);
    expect(timed.store.opened).toBe(2);
  });

  it('should check everything as soon as it is connected again', async () => {
    await timed.verdict(timed.token);
    timed.store.rows.clear();
    timed.store.break(new Error('terminated'));
    await timed.wait(5);
    expect(timed.store.checks).toEqual([1]);
    expect(await timed.verdict(timed.token)).toBeUndefined();
  });

  it('should let nobody wait for longer than the time limit', async () => {
    timed.store.hold();
    const asked = timed.ask(timed.token);
    await timed.wait(TIMEOUT_MS - 1);
    expect(asked.verdict).toBe('pending');
    await timed.wait(1);
    expect(asked.verdict).toMatchObject({ name: 'DatabaseTimeoutError' });
  });

  it('should not give up the connection for a statement that is rejected', async () => {
    const rejection = new Error('permission denied');
    timed.store.rejection = rejection;
    expect(await timed.verdict(timed.token)).toBe(rejection);
    expect(await timed.verdict(timed.token)).toBe(rejection);
    expect(timed.store.opened).toBe(1);
    timed.store.rejection = undefined;
    expect(await timed.verdict(timed.token)).toEqual(GARDENER);
  });
});
