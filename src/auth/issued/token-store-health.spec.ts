import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { TokenStoreHealth } from './token-store-health.js';

describe(TokenStoreHealth.name, () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('should give each attempt to connect more time than the one before, and begin anew when one has worked', () => {
    const logger = new Logger('Tokens');
    const lines = [jest.spyOn(logger, 'warn').mockReturnValue(), jest.spyOn(logger, 'log').mockReturnValue()] as const;
    const health = new TokenStoreHealth(logger, 'There is nothing to do.');
    const limits = [1, 2, 3, 4].map(() => {
      const limit = health.connectLimit;
      health.failed(new Error('connect ECONNREFUSED'));
      return limit;
    });
    expect(limits).toEqual([1000, 2000, 4000, 8000]);
    health.worked();
    expect(health.connectLimit).toBe(1000);
    expect(lines.map(({ mock }) => mock.calls[0]?.[0] as unknown)).toEqual([
      'Access tokens cannot be looked up: connect ECONNREFUSED. There is nothing to do.',
      'Access tokens can be looked up again.',
    ]);
    expect(lines.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });
});
