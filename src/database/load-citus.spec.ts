import { describe, expect, it, jest } from '@jest/globals';
import type { Query } from './database.js';
import { loadCitus } from './load-citus.js';

describe(loadCitus.name, () => {
  it('should ask a database without Citus once, and let it sleep from then on', async () => {
    jest.useFakeTimers();
    const query = jest.fn<() => Promise<object[]>>().mockResolvedValue([]);
    await expect(loadCitus(query as unknown as Query, 'public')).resolves.toBeUndefined();
    expect(query).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });
});
