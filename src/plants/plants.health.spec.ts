import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { DatabaseOverloadedError, DatabaseUnreachableError } from '../prisma/database.errors.js';
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

  const outcomeAfter = async (milliseconds: number): Promise<string> => {
    await jest.advanceTimersByTimeAsync(milliseconds);
    return health.check().then(
      () => 'ready',
      (error: unknown) => (error as Error).message,
    );
  };

  it('should share a probe among those who ask while it runs, and for two seconds after its begin', async () => {
    execute.mockImplementationOnce(() => new Promise((_, reject) => setTimeout(reject, 500, new Error('reset'))));
    const together = [outcomeAfter(0), outcomeAfter(0)];
    await jest.advanceTimersByTimeAsync(500);
    const failures = [...(await Promise.all(together)), await outcomeAfter(1400)];
    expect(failures).toEqual(Array(3).fill('the database cannot be reached'));
    expect(await outcomeAfter(100)).toBe('ready');
    expect(execute).toHaveBeenCalledTimes(2);
  });

  it('should not wait longer than two seconds, and keep the last result while every connection is in use', async () => {
    execute.mockReturnValue(new Promise(() => undefined));
    for (const expected of ['the database did not answer within 2000 ms', 'ready']) {
      isBusy.mockReturnValue(expected === 'ready');
      const outcome = outcomeAfter(0);
      await jest.advanceTimersByTimeAsync(2000);
      expect(await outcome).toBe(expected);
    }
    expect(execute).toHaveBeenCalledTimes(1);
  });

  const refusal = (code: string): Error =>
    Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, routine: '', severity: 'ERROR' });
  const noConnection = new DatabaseUnreachableError('', { cause: refusal('28P01') });

  // Other reasons, with their causes in the log: test/service/.
  it.each<[what: string, Error, RegExp]>([
    ['a missing column', refusal('42703'), /^the database refuses creates \(SQLSTATE 42703\)$/],
    ['a wrong password', noConnection, /^the database refuses creates \(SQLSTATE 28P01\)$/],
  ])('should say why after %s, also while the next probe gets no connection', async (_, error, reason) => {
    execute.mockRejectedValueOnce(error).mockRejectedValueOnce(new DatabaseOverloadedError('busy'));
    for (const later of [0, 2000]) expect(await outcomeAfter(later)).toMatch(reason);
    expect(execute).toHaveBeenCalledTimes(2);
  });
});
