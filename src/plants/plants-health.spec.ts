import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, Subject } from 'rxjs';
import { ConnectionPoolExhaustedError, DatabaseUnreachableError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import type { CreateFailures } from './create-failures.js';
import { PlantsHealth } from './plants-health.js';
import type { Lanes, LanesHealth } from './lanes.js';

class SlowDatabase {
  readonly schema = 'public';
  readonly timeout = 5000;
  readonly statements: string[] = [];
  isShort = false;
  busy = false;
  readonly inspections: string[] = [];
  unlogged: string[] = [];
  answer: () => Promise<unknown> = () => Promise.resolve([]);

  readonly query = (sql: string): Promise<unknown> => {
    if (sql.startsWith('DO ')) {
      this.statements.push(sql);
      return this.answer();
    }
    this.inspections.push(sql);
    return Promise.resolve(this.unlogged.map((found) => ({ found })));
  };

  isBusy(): boolean {
    return this.busy;
  }

  hold(): Subject<[]> {
    const held = new Subject<[]>();
    this.answer = () => firstValueFrom(held);
    return held;
  }
}

const refusal = (originalCode: string): Error => new Error('refused', { cause: { originalCode } });
const unreachable = (code?: string): Error =>
  new DatabaseUnreachableError('no connection', { cause: Object.assign(new Error('refused'), { code }) });
const outcomeOf = (check: Promise<void>): Promise<string> =>
  check.then(
    () => 'ready',
    (error: unknown) => (error as Error).message,
  );

describe(PlantsHealth.name, () => {
  let database: SlowDatabase;
  let health: PlantsHealth;
  let lanes: LanesHealth | undefined;

  let failures: {
    -readonly [Member in 'isTableSuspected' | 'forget' | 'readTriggers']: CreateFailures[Member];
  };

  beforeEach(() => {
    jest.useFakeTimers();
    database = new SlowDatabase();
    lanes = undefined;
    failures = { isTableSuspected: false, forget: jest.fn(), readTriggers: () => Promise.resolve() };
    health = new PlantsHealth(
      database as unknown as Database,
      { probe: () => lanes && Promise.resolve(lanes) } as Lanes,
      failures as unknown as CreateFailures,
    );
    // The process has run for a while.
    jest.advanceTimersByTime(20_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('should share a probe among those who ask while it runs, and for two seconds after its begin', async () => {
    const held = database.hold();
    const checks = [health.check(), health.check(), health.check()].map(outcomeOf);
    await jest.advanceTimersByTimeAsync(500);
    held.error(new Error('reset'));
    expect(await Promise.all(checks)).toEqual(Array(3).fill('the database cannot be reached'));

    database.answer = () => Promise.resolve([]);
    await jest.advanceTimersByTimeAsync(1400);
    expect(await outcomeOf(health.check())).toBe('the database cannot be reached');
    expect(database.statements).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(100);
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(database.statements).toHaveLength(2);
  });

  it('should not wait longer than two seconds, nor begin another probe meanwhile', async () => {
    const held = database.hold();
    for (const busy of [false, true]) {
      database.busy = busy;
      const outcome = outcomeOf(health.check());
      await jest.advanceTimersByTimeAsync(2000);
      expect(await outcome).toMatch(busy ? 'overloaded' : 'did not answer within 2000 ms');
    }
    expect(database.statements).toHaveLength(1);
    held.next([]);
    expect(await outcomeOf(health.check())).toBe('ready');
    await jest.advanceTimersByTimeAsync(0);
    const next = outcomeOf(health.check());
    expect(database.statements).toHaveLength(2);
    held.next([]);
    expect(await next).toBe('ready');
  });

  it('should insert a row after a statement failed for lack of resources, until that succeeds', async () => {
    database.isShort = true;
    database.answer = () => Promise.reject(refusal('53100'));
    expect(await outcomeOf(health.check())).toBe('the disk of the database is full');
    await jest.advanceTimersByTimeAsync(2000);
    database.answer = () => Promise.resolve([]);
    expect(await outcomeOf(health.check())).toBe('ready');
    await jest.advanceTimersByTimeAsync(2000);
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(database.statements.map((sql) => sql.includes('RAISE EXCEPTION'))).toEqual([true, true, false]);
  });

  it('should insert a row while the table is suspected, and report that it went in', async () => {
    failures.isTableSuspected = true;
    database.answer = () => Promise.reject(refusal('23514'));
    expect(await outcomeOf(health.check())).toBe('the database refuses creates (SQLSTATE 23514)');
    expect(failures.forget).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(2000);
    database.answer = () => Promise.resolve([]);
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(failures.forget).toHaveBeenCalledTimes(1);
    failures.isTableSuspected = false;
    await jest.advanceTimersByTimeAsync(2000);
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(failures.forget).toHaveBeenCalledTimes(1);
    expect(database.statements.map((sql) => sql.includes('RAISE EXCEPTION'))).toEqual([true, true, false]);
  });

  it.each([
    [refusal('25006'), 'the database accepts no writes: it is a standby, or read-only'],
    [refusal('55P03'), 'the table plants is locked'],
    [refusal('42703'), 'the database refuses creates (SQLSTATE 42703)'],
    [refusal('42501'), 'the role lacks a right, or row level security refuses its plants (SQLSTATE 42501)'],
    [refusal('57P01'), 'the database cannot be reached (SQLSTATE 57P01)'],
    [unreachable('28P01'), 'the database refuses the password of the role (SQLSTATE 28P01)'],
    [unreachable('28000'), 'the database refuses the role: it may not log in, or not from here (SQLSTATE 28000)'],
    [unreachable('3D000'), 'the database does not exist (SQLSTATE 3D000)'],
    [unreachable('42501'), 'the role lacks a right, or row level security refuses its plants (SQLSTATE 42501)'],
    [unreachable('53300'), 'the database accepts no more connections (SQLSTATE 53300)'],
    [unreachable('57P03'), 'the database cannot be reached (SQLSTATE 57P03)'],
    [unreachable(), 'the database cannot be reached'],
    [Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }), 'the database cannot be reached'],
    [new ConnectionPoolExhaustedError('busy'), 'the database is overloaded: every connection is in use'],
  ])('should say why after %s (%#)', async (error, reason) => {
    database.answer = () => Promise.reject(error);
    expect(await outcomeOf(health.check())).toBe(reason);
  });

  it('should look for tables that a crash would empty, once a minute, after a probe that has succeeded', async () => {
    const probeFor = async (minutes: number): Promise<void> => {
      for (let count = 0; count < minutes * 30; count++) {
        await outcomeOf(health.check());
        await jest.advanceTimersByTimeAsync(2000);
      }
    };
    database.unlogged = ['ALTER TABLE public.plants SET LOGGED', 'ALTER TABLE public.access_tokens SET LOGGED'];
    await probeFor(1);
    expect(database.inspections).toHaveLength(1);
    expect(await outcomeOf(health.check())).toBe('ready');
    const reason =
      'a crash of PostgreSQL would empty tables, which are UNLOGGED. Run ALTER TABLE public.plants SET LOGGED; ' +
      'ALTER TABLE public.access_tokens SET LOGGED';
    expect(health.degradation).toBe(`degraded: ${reason}`);

    lanes = { degradation: 'shards of b:2 do not answer', failure: undefined };
    await probeFor(2);
    expect(database.inspections.length).toBeLessThanOrEqual(4);
    expect(health.degradation).toBe(`degraded: shards of b:2 do not answer; ${reason}`);
    lanes = undefined;

    database.answer = () => Promise.reject(refusal('57P01'));
    database.inspections.length = 0;
    await probeFor(2);
    expect(database.inspections).toEqual([]);

    database.answer = () => Promise.resolve([]);
    database.unlogged = [];
    await probeFor(1);
    expect(health.degradation).toBeUndefined();
  });

  it('should be ready while shards of some nodes do not answer, and say which, but not if none answers', async () => {
    lanes = { degradation: 'shards of b:2 do not answer', failure: undefined };
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(health.degradation).toBe('degraded: shards of b:2 do not answer');
    await jest.advanceTimersByTimeAsync(2000);
    lanes = { ...lanes, failure: refusal('08006') };
    expect(await outcomeOf(health.check())).toBe('the database cannot be reached (SQLSTATE 08006)');
    await jest.advanceTimersByTimeAsync(2000);
    lanes = { degradation: undefined, failure: undefined };
    expect(await outcomeOf(health.check())).toBe('ready');
    expect(health.degradation).toBeUndefined();
    expect(database.statements).toEqual([]);
  });
});
