import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NetworkError, RequestError } from './errors.js';
import { retryDelay } from './retry.js';

class AnyError extends RequestError {
  constructor(retryable: boolean, retryAfter?: number) {
    super('any', { retryable, retryAfter, idempotencyKey: 'any' });
  }
}

describe(retryDelay.name, () => {
  const options = { retryDelay: 200, maxRetryDelay: 30_000 };

  it('should lie between what the answer asks for, with a growing span above it, and the maximum', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.nat(2000), (asked, repetition) => {
        const delay = retryDelay(new AnyError(true, asked), repetition, options);
        expect(delay).toBeGreaterThanOrEqual(asked * 1000);
        expect(delay).toBeLessThanOrEqual(Math.min(asked * 1000 + 200 * 2 ** repetition, 30_000));
      }),
    );
  });

  it('should differ from one client to the next', () => {
    const delays = Array.from({ length: 20 }, () => retryDelay(new NetworkError('', '', ''), 3, options));
    expect(new Set(delays).size).toBeGreaterThan(10);
  });

  it('should be none if a repetition is of no use, or too far away', () => {
    expect(retryDelay(new AnyError(false, 1), 0, options)).toBeUndefined();
    expect(retryDelay(new AnyError(true, 30.5), 0, options)).toBeUndefined();
    expect(retryDelay(new AnyError(true, Infinity), 0, options)).toBeUndefined();
  });

  it('should be able to be nothing', () => {
    expect(retryDelay(new AnyError(true), 5, { retryDelay: 0, maxRetryDelay: 0 })).toBe(0);
  });
});
