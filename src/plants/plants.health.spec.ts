import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseOverloadedError, DatabaseUnreachableError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import { PlantsHealth } from './plants.health.js';

class SlowDatabase {
  readonly schema = 'public';
  readonly statements: string[] = [];
  busy = false;
  answer: () => Promise<unknown> = () => Promise.resolve([]);

  readonly query = (sql: string): Promise<unknown> => {
    if (!sql.startsWith('DO ')) return Promise.resolve([]);
    this.statements.push(sql);
    return this.answer();
  };

  isBusy(): boolean {
    return this.busy;
  }
}

const refusal = (originalCode: string): Error => new Error('refused', { cause: { originalCode } });

describe(PlantsHealth.name, () => {
  let database: SlowDatabase;
  let health: PlantsHealth;

  beforeEach(() => {
    jest.useFakeTimers();
    database = new SlowDatabase();
    health = new PlantsHealth(database as unknown as Database);
    // The process has run for a while.
    jest.advanceTimersByTime(20_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const outcome = (): Promise<string> =>
    health.check().then(
      () => health.degradation ?? 'ready',
      (error: unknown) => (error as Error).message,
    );

  it('should share a probe among those who ask while it runs, and for two seconds after its begin', async () => {
    database.answer = () => new Promise((_, reject) => setTimeout(reject, 500, new Error('reset')));
    const checks = [outcome(), outcome(), outcome()];
    await jest.advanceTimersByTimeAsync(500);
    expect(await Promise.all(checks)).toEqual(Array(3).fill('the database cannot be reached'));

    database.answer = () => Promise.resolve([]);
    await jest.advanceTimersByTimeAsync(1400);
    expect(await outcome()).toBe('the database cannot be reached');
    expect(database.statements).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(100);
    expect(await outcome()).toBe('ready');
    expect(database.statements).toHaveLength(2);
  });

  it('should not wait longer than two seconds, and keep the last result while every connection is in use', async () => {
    database.answer = () => new Promise(() => undefined);
    for (const [busy, expected] of [
      [false, 'the database did not answer within 2000 ms'],
      [true, 'ready'],
    ] as const) {
      database.busy = busy;
      const found = outcome();
      await jest.advanceTimersByTimeAsync(2000);
      expect(await found).toBe(expected);
    }
    expect(database.statements).toHaveLength(1);
  });

  it('should keep the last result if the probe gets no connection', async () => {
    database.answer = () => Promise.reject(refusal('25006'));
    const standby = await outcome();
    database.answer = () => Promise.reject(new DatabaseOverloadedError('busy'));
    await jest.advanceTimersByTimeAsync(2000);
    expect(await outcome()).toBe(standby);
    expect(database.statements).toHaveLength(2);
  });

  it('should ask for room for a minute after a create or a probe has found none', async () => {
    const probeAfter = async (milliseconds: number): Promise<boolean> => {
      await jest.advanceTimersByTimeAsync(milliseconds);
      await outcome();
      return database.statements.at(-1)?.includes('generate_series') ?? false;
    };
    expect(await probeAfter(0)).toBe(false);
    health.noteFailure(refusal('53300'));
    expect(await probeAfter(2000)).toBe(false);
    health.noteFailure(refusal('53100'));
    expect(await probeAfter(2000)).toBe(true);
    database.answer = () => Promise.reject(refusal('53100'));
    expect(await probeAfter(50_000)).toBe(true);
    expect(await outcome()).toBe('the disk of the database is full');
    database.answer = () => Promise.resolve([]);
    expect(await probeAfter(50_000)).toBe(true);
    expect(await outcome()).toBe('ready');
    expect(await probeAfter(11_000)).toBe(false);
  });

  it.each([
    [refusal('25006'), 'the database accepts no writes: it is a standby, or read-only'],
    [refusal('42703'), 'the database refuses creates (SQLSTATE 42703)'],
    [new DatabaseUnreachableError('', { cause: refusal('28P01') }), 'the database refuses creates (SQLSTATE 28P01)'],
    [new DatabaseUnreachableError('no connection'), 'the database cannot be reached'],
    ...['23514', 'P0001', '22001', 'SKIP0', '42501'].map((state): [Error, string] => [
      refusal(state),
      `degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant (SQLSTATE ${state})`,
    ]),
  ])('should say why after %s (%#)', async (error, reason) => {
    database.answer = () => Promise.reject(error);
    expect(await outcome()).toBe(reason);
  });
});
