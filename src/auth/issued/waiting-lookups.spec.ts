import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TimedVerifier } from '../../../test/support/timed-verifier.js';
import { makeToken } from './token-form.js';
import { WaitingLookups } from './waiting-lookups.js';

const PRINCIPAL = { name: 'gardener', scopes: ['plants:create'], limitKey: 'issued:gardener' };

describe(WaitingLookups.name, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should ask once a second about a token that is wrong', async () => {
    const wrong = makeToken();
    expect(await timed.verdict(wrong)).toBeUndefined();
    for (let i = 0; i < 100; i++) expect(timed.verifier.verify(wrong)).toBeUndefined();
    expect(timed.store.lookups).toEqual([1]);
    await timed.wait(1000);
    expect(await timed.verdict(wrong)).toBeUndefined();
    expect(timed.store.lookups).toEqual([1, 1]);
  });

  it('should ask about thousands of wrong tokens with few queries', async () => {
    expect(await timed.verdict(timed.token)).toEqual(PRINCIPAL);
    const asked = Array.from({ length: 3000 }, () => timed.ask(makeToken()));
    await timed.wait(200);
    expect(asked.every((each) => each.verdict === undefined)).toBe(true);
    expect(timed.store.lookups.slice(1)).toEqual([500, 500, 500, 500, 500, 500]);
    expect(timed.verifier.verify(timed.token)).toEqual(PRINCIPAL);
  });

  it('should ask 50 times a second at most, whatever comes', async () => {
    for (let i = 0; i < 1000; i++) {
      timed.ask(makeToken());
      await timed.wait(1);
    }
    expect(timed.store.lookups.length).toBeLessThanOrEqual(51);
    expect(timed.store.lookups.length).toBeGreaterThan(40);
  });

  it('should go on checking the right ones', async () => {
    await timed.verdict(timed.token);
    timed.store.rows.clear();
    const release = setInterval(() => timed.ask(makeToken()), 1);
    await timed.wait(600);
    clearInterval(release);
    expect(await timed.verdict(timed.token)).toBeUndefined();
  });

  it('should say that it can not tell where too many of one network wait', async () => {
    await timed.verdict(timed.token);
    const answer = timed.store.hold();
    const first = timed.ask(makeToken());
    await timed.wait(50);
    const others = Array.from({ length: 4999 }, () => timed.ask(makeToken()));
    expect(await timed.verdict(makeToken())).toMatchObject({ name: 'TooManyLookupsError' });
    expect(timed.verifier.verify(timed.token)).toEqual(PRINCIPAL);
    answer();
    await timed.wait(1000);
    expect([first, ...others].every((each) => each.verdict === undefined)).toBe(true);
    expect(await timed.verdict(makeToken())).toBeUndefined();
  });

  it('should ask next about who comes from another network, however many of one wait', async () => {
    await timed.verdict(makeToken());
    const answer = timed.store.hold();
    const flood = Array.from({ length: 6000 }, () => timed.ask(makeToken(), '192.0.2.1'));
    await timed.wait(50);
    const others = [timed.ask(timed.token, '192.0.2.2'), timed.ask(timed.token, '2001:db8::1')];
    expect(others.every((each) => each.verdict === 'pending')).toBe(true);
    answer();
    await timed.wait(40);
    expect(others.map((each) => each.verdict)).toEqual([PRINCIPAL, PRINCIPAL]);
    expect(flood.filter((each) => each.verdict === 'pending').length).toBeGreaterThan(3000);
    await timed.wait(1000);
    expect(flood.filter((each) => each.verdict === undefined)).toHaveLength(5000);
  });

  it('should have a place for another network where many send too much at a time', async () => {
    await timed.verdict(makeToken());
    const answer = timed.store.hold();
    for (let i = 0; i < 200; i++) {
      for (let network = 1; network <= 100; network++) timed.ask(makeToken(), `192.0.2.${network}`);
    }
    await timed.wait(50);
    const other = timed.ask(timed.token, '198.51.100.1');
    answer();
    await timed.wait(40);
    expect(other.verdict).toEqual(PRINCIPAL);
  });
});
