import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseOverloadedError, DatabaseUnreachableError } from '../prisma/database.errors.js';
import type { Database } from '../prisma/database.js';
import { PlantsHealth } from './plants.health.js';

const refusal = (originalCode: string): Error => new Error('refused', { cause: { originalCode } });

describe(PlantsHealth.name, () => {
  /** How the database answers a probe. */
  const answer = jest.fn<(sql: string) => Promise<unknown>>();
  const isBusy = jest.fn<() => boolean>();
  let health: PlantsHealth;

  beforeEach(() => {
    jest.useFakeTimers();
    answer.mockReset().mockResolvedValue([]);
    isBusy.mockReset();
    health = new PlantsHealth({ schema: 'public', query: answer, isBusy } as unknown as Database);
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
    answer.mockImplementationOnce(() => new Promise((_, reject) => setTimeout(reject, 500, new Error('reset'))));
    const together = [outcomeAfter(0), outcomeAfter(0)];
    await jest.advanceTimersByTimeAsync(500);
    const failures = [...(await Promise.all(together)), await outcomeAfter(1400)];
    expect(failures).toEqual(Array(3).fill('the database cannot be reached'));
    expect(await outcomeAfter(100)).toBe('ready');
    expect(answer).toHaveBeenCalledTimes(2);
  });

  it('should not wait longer than two seconds, and keep the last result while every connection is in use', async () => {
    answer.mockReturnValue(new Promise(() => undefined));
    for (const expected of ['the database did not answer within 2000 ms', 'ready']) {
      isBusy.mockReturnValue(expected === 'ready');
      const outcome = outcomeAfter(0);
      await jest.advanceTimersByTimeAsync(2000);
      expect(await outcome).toBe(expected);
    }
    expect(answer).toHaveBeenCalledTimes(1);
  });

  it('should ask for room for a minute after a create or a probe has found none', async () => {
    const largeAfter = async (milliseconds: number, expected = 'ready'): Promise<boolean> => {
      expect(await outcomeAfter(milliseconds)).toBe(expected);
      return answer.mock.lastCall?.[0].includes('generate_series') ?? false;
    };
    health.noteFailure(refusal('53300'));
    expect(await largeAfter(0)).toBe(false);
    health.noteFailure(refusal('53100'));
    expect(await largeAfter(2000)).toBe(true);
    answer.mockRejectedValueOnce(refusal('53100'));
    expect(await largeAfter(50_000, 'the disk of the database is full')).toBe(true);
    expect(await largeAfter(50_000)).toBe(true);
    expect(await largeAfter(11_000)).toBe(false);
  });

  it.each<[Error, string]>([
    [refusal('25006'), 'the database accepts no writes: it is a standby, or read-only'],
    [refusal('42703'), 'the database refuses creates (SQLSTATE 42703)'],
    [new DatabaseUnreachableError('', { cause: refusal('28P01') }), 'the database refuses creates (SQLSTATE 28P01)'],
    ...['23514', 'P0001', '22001', 'SKIP0', '42501'].map((state): [Error, string] => [
      refusal(state),
      `degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE ${state})`,
    ]),
  ])('should say why after %s, also while the next probe gets no connection (%#)', async (error, reason) => {
    answer.mockRejectedValueOnce(error).mockRejectedValueOnce(new DatabaseOverloadedError('busy'));
    expect([await outcomeAfter(0), await outcomeAfter(2000)]).toEqual([reason, reason]);
    expect(answer).toHaveBeenCalledTimes(2);
  });
});
