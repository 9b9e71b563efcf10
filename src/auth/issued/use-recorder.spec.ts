import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS, TimedVerifier } from '../../../test/support/timed-verifier.js';
import { UseRecorder } from './use-recorder.js';

const PRINCIPAL = { name: 'gardener', scopes: ['plants:create'], limitKey: 'issued:gardener' };

describe(UseRecorder.name, () => {
  let timed: TimedVerifier;

  beforeEach(() => {
    timed = new TimedVerifier();
  });
  afterEach(() => timed[Symbol.asyncDispose]());

  it('should be made at most once a minute', async () => {
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

  it('should be made of a token that is revoked before it could be recorded', async () => {
    await timed.verdict(timed.token, 5);
    timed.store.rows.delete(timed.token);
    await timed.wait(1000);
    expect(timed.store.uses).toEqual([{ id: 1, age: expect.any(Number) }]);
    expect(await timed.verdict(timed.token)).toBeUndefined();
  });

  it('should not matter where they can not be made, and be tried again', async () => {
    timed.store.useRejection = new Error('permission denied');
    await timed.verdict(timed.token);
    await timed.wait(MINUTE_MS);
    expect(timed.verifier.verify(timed.token)).toEqual(PRINCIPAL);
    expect(timed.store.opened).toBe(1);
    timed.store.useRejection = undefined;
    await timed.wait(MINUTE_MS);
    expect(timed.store.uses).toHaveLength(1);
  });

  it('should be made a last time at the end', async () => {
    await timed.verdict(timed.token, 5);
    expect(timed.store.uses).toEqual([]);
    await timed.verifier.onApplicationShutdown();
    expect(timed.store.uses).toEqual([{ id: 1, age: expect.any(Number) }]);
    expect(timed.store.isOpen).toBe(false);
  });
});
