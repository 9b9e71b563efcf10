import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { DatabaseOverloadedError, DatabaseUnreachableError } from '../prisma/database.errors.js';
import type { StorePool } from '../prisma/store-pool.js';
import { PlantsHealth } from './plants.health.js';
import type { PlantsRepository } from './plants.repository.js';

const refusal = (code: string, routine = ''): Error =>
  Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, routine, severity: 'ERROR' });

describe(PlantsHealth.name, () => {
  /** How the database answers a probe. */
  const probe = jest.fn<() => Promise<void>>();
  const isBusy = jest.fn<() => boolean>();
  let health: PlantsHealth;

  beforeEach(() => {
    jest.useFakeTimers();
    probe.mockReset().mockResolvedValue();
    isBusy.mockReset();
    health = new PlantsHealth({ isBusy } as unknown as StorePool, { probe } as unknown as PlantsRepository);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const outcomeAfter = async (milliseconds: number): Promise<string> => {
    await jest.advanceTimersByTimeAsync(milliseconds);
    return health.check().then(
      () => health.degradation ?? 'ready',
      (error: unknown) => (error as Error).message,
    );
  };

  it('should share a probe among those who ask while it runs, and for two seconds after its begin', async () => {
    probe.mockImplementationOnce(() => new Promise((_, reject) => setTimeout(reject, 500, new Error('reset'))));
    const together = [outcomeAfter(0), outcomeAfter(0)];
    await jest.advanceTimersByTimeAsync(500);
    const failures = [...(await Promise.all(together)), await outcomeAfter(1400)];
    expect(failures).toEqual(Array(3).fill('the database cannot be reached'));
    expect(await outcomeAfter(100)).toBe('ready');
    expect(probe).toHaveBeenCalledTimes(2);
  });

  it('should not wait longer than two seconds, and keep the last result while every connection is in use', async () => {
    probe.mockReturnValue(new Promise(() => undefined));
    for (const expected of ['the database did not answer within 2000 ms', 'ready']) {
      isBusy.mockReturnValue(expected === 'ready');
      const outcome = outcomeAfter(0);
      await jest.advanceTimersByTimeAsync(2000);
      expect(await outcome).toBe(expected);
    }
    expect(probe).toHaveBeenCalledTimes(1);
  });

  it.each<[Error, string]>([
    [refusal('25006'), 'the database accepts no writes: it is a standby, or read-only'],
    [refusal('42703'), 'the database refuses creates (SQLSTATE 42703)'],
    [new DatabaseUnreachableError('', { cause: refusal('28P01') }), 'the database refuses creates (SQLSTATE 28P01)'],
    [
      refusal('42501', 'aclcheck_error'),
      'the role lacks a right that a create needs: `plant-store migrate` gives those on the tables',
    ],
    ...['23514', 'P0001', '22001', '42501'].map((state): [Error, string] => [
      refusal(state),
      `degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE ${state})`,
    ]),
  ])('should say why after %s, also while the next probe gets no connection (%#)', async (error, reason) => {
    probe.mockRejectedValueOnce(error).mockRejectedValueOnce(new DatabaseOverloadedError('busy'));
    expect([await outcomeAfter(0), await outcomeAfter(2000)]).toEqual([reason, reason]);
    expect(probe).toHaveBeenCalledTimes(2);
  });
});
