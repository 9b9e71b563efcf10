import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PrimaryRateCounter } from './primary-rate-counter.js';

const counted = (...requests: number[]): { requests: number; msLeft: number }[] =>
  requests.map((count) => ({ requests: count, msLeft: 60_000 }));

describe(PrimaryRateCounter.name, () => {
  let asked: string[][];
  let counter: PrimaryRateCounter;
  let warnings: jest.SpiedFunction<Logger['warn']>;

  beforeEach(() => {
    jest.useFakeTimers();
    warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    asked = [];
    counter = new PrimaryRateCounter((keys) => asked.push(keys));
  });
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('should ask at once, and for all that come meanwhile together', async () => {
    const first = counter.count('a');
    const others = [counter.count('b'), counter.count('a'), counter.count('c')];
    expect(asked).toEqual([['a']]);

    counter.settle(counted(1));
    expect(await first).toEqual({ requests: 1, msLeft: 60_000 });
    expect(asked).toEqual([['a'], ['b', 'a', 'c']]);
    counter.settle(counted(1, 2, 3));
    expect(await Promise.all(others)).toEqual(counted(1, 2, 3));
    expect(asked).toHaveLength(2);
  });

  it('should let all pass while the primary is silent, without waiting or asking, and say so once', async () => {
    const waiting = [counter.count('a'), counter.count('b')];
    jest.advanceTimersByTime(1000);
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    for (let times = 0; times < 100; times++) expect(await counter.count('c')).toBeUndefined();

    expect(asked).toEqual([['a']]);
    expect(warnings.mock.calls).toEqual([[expect.stringMatching(/did not count requests within 1000 ms/)]]);
  });

  it('should count again from a late answer on', async () => {
    const late = counter.count('a');
    jest.advanceTimersByTime(1000);
    counter.settle(counted(1));
    expect(await late).toBeUndefined();

    const next = counter.count('a');
    expect(asked).toEqual([['a'], ['a']]);
    counter.settle(counted(2));
    expect(await next).toEqual({ requests: 2, msLeft: 60_000 });
  });

  it('should let all pass when the primary is gone', async () => {
    const waiting = [counter.count('a'), counter.count('b')];
    counter.abandon();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect(await counter.count('c')).toBeUndefined();
    expect(warnings).not.toHaveBeenCalled();
  });
});
