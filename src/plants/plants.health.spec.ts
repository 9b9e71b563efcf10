import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { DatabaseUnreachableError } from '../prisma/database.errors.js';
import type { StorePool } from '../prisma/store-pool.js';
import { PlantsHealth } from './plants.health.js';

const READY = [{ isReadOnly: false, hasRights: true, deniedFunction: null }];

describe(PlantsHealth.name, () => {
  /** How the database answers a probe. */
  const execute = jest.fn<() => Promise<object[]>>();
  const isBusy = jest.fn<() => boolean>();
  let health: PlantsHealth;

  beforeEach(() => {
    jest.useFakeTimers();
    execute.mockReset().mockResolvedValue(READY);
    isBusy.mockReset();
    health = new PlantsHealth({ schema: 'public', isBusy, execute } as unknown as StorePool);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const outcome = (): Promise<string> =>
    health.check().then(
      () => 'ready',
      (error: unknown) => (error as Error).message,
    );

  it('should share a statement among those who ask while it runs', async () => {
    execute.mockImplementationOnce(() => new Promise((_, reject) => setTimeout(reject, 500, new Error('reset'))));
    const together = [outcome(), outcome()];
    await jest.advanceTimersByTimeAsync(500);
    expect(await Promise.all(together)).toEqual(Array(2).fill('the database cannot be reached'));
    expect(await outcome()).toBe('ready');
    expect(execute).toHaveBeenCalledTimes(2);
  });

  it('should wait two seconds at most, and keep the last result while every connection is in use', async () => {
    execute.mockImplementationOnce(() => new Promise((_, reject) => setTimeout(reject, 5000, new Error('lost'))));
    const late = outcome();
    await jest.advanceTimersByTimeAsync(2000);
    expect(await late).toBe('the database did not answer within 2000 ms');
    await jest.advanceTimersByTimeAsync(3000);
    isBusy.mockReturnValueOnce(true);
    expect([await outcome(), await outcome()]).toEqual(['the database cannot be reached', 'ready']);
  });

  // Other reasons, with their causes in the log: test/service/.
  it.each(['42703', '28P01'])('should say which SQLSTATE the database answered: %s', async (code) => {
    const refusal = Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, severity: 'ERROR' });
    execute.mockRejectedValueOnce(new DatabaseUnreachableError('', { cause: refusal }));
    expect(await outcome()).toBe(`the database refuses creates (SQLSTATE ${code})`);
  });
});
