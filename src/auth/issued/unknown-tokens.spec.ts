import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { UnknownTokens } from './unknown-tokens.js';

describe(UnknownTokens.name, () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('should be 10,000 at most, those that came last', () => {
    const unknown = new UnknownTokens();
    for (let i = 1; i <= 10_000; i++) unknown.add(`token ${i}`);
    expect(unknown.has('token 1')).toBe(true);

    // The one that was asked about a moment ago is not the oldest any more.
    unknown.add('token 10001');
    expect([1, 2, 3, 10_001].filter((i) => unknown.has(`token ${i}`))).toEqual([1, 3, 10_001]);

    for (let i = 10_002; i <= 25_000; i++) unknown.add(`token ${i}`);
    const all = Array.from({ length: 25_000 }, (_, i) => `token ${i + 1}`);
    expect(all.filter((key) => unknown.has(key))).toEqual(all.slice(15_000));
  });

  it('should be so for a second', () => {
    const unknown = new UnknownTokens();
    unknown.add('token');
    jest.advanceTimersByTime(999);
    expect(unknown.has('token')).toBe(true);
    jest.advanceTimersByTime(1);
    expect(unknown.has('token')).toBe(false);
  });

  it('should be none after a change', () => {
    const unknown = new UnknownTokens();
    unknown.add('token');
    unknown.clear();
    expect(unknown.has('token')).toBe(false);
  });
});
