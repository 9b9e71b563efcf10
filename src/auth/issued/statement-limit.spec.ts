import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StatementLimit } from './statement-limit.js';

describe(StatementLimit.name, () => {
  let limit: StatementLimit;

  beforeEach(() => {
    jest.useFakeTimers();
    limit = new StatementLimit(5000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Answers in turn, every half a second. */
  function answer(...took: number[]): void {
    for (const each of took) {
      jest.advanceTimersByTime(500);
      limit.answered(each);
    }
  }

  it('should double with each statement that runs out of it, up to the longest', () => {
    const limits = [1, 2, 3, 4, 5].map(() => {
      const { milliseconds } = limit;
      limit.ranOut();
      return milliseconds;
    });
    expect(limits).toEqual([750, 1500, 3000, 5000, 5000]);
  });

  it('should never be longer than the longest', () => {
    const short = new StatementLimit(100);
    expect(short.milliseconds).toBe(100);
    short.ranOut();
    expect(short.milliseconds).toBe(100);
  });

  it('should stay raised as long as answers are slow', () => {
    limit.ranOut();
    answer(...Array.from({ length: 100 }, () => 376));
    expect(limit.milliseconds).toBe(1500);
  });

  it('should stay raised as long as some are slow, however many others are fast', () => {
    limit.ranOut();
    for (let i = 0; i < 100; i++) answer(1, 1, 1, 1, 1, 1, 1, 1, 376);
    expect(limit.milliseconds).toBe(1500);
  });

  it('should be as short as at first when all have been fast for five seconds', () => {
    limit.ranOut();
    limit.ranOut();
    answer(1200, 1200, ...Array.from({ length: 9 }, () => 375));
    expect(limit.milliseconds).toBe(3000);
    answer(375);
    expect(limit.milliseconds).toBe(750);
  });
});
