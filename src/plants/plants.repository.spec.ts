import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { DatabaseOverloadedError, DatabaseUnreachableError, PlantLeftOutError } from '../prisma/database.errors.js';
import { PrismaService } from '../prisma/prisma.service.js';
import { type StorePool, UrlPool } from '../prisma/store-pool.js';
import { PLANT_FIELDS } from './plant.dto.js';
import { PlantsHealth } from './plants.health.js';
import { COLUMNS, PlantsRepository } from './plants.repository.js';

describe(PlantsRepository.name, () => {
  let database: TestDatabase;
  let pool: UrlPool;
  let repository: PlantsRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new UrlPool({ url: database.url, size: 1 });
    repository = new PlantsRepository(new PrismaService(pool), pool);
  });
  afterAll(async () => {
    await pool.onApplicationShutdown();
    await database.drop();
  });

  // A field that is forgotten in one of these places fails here.
  it('should know each column of the table but the moment, and each field of a plant', async () => {
    const found = await database.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'plants'::regclass AND attnum > 0`,
    );
    const known = Object.values(COLUMNS).map(([column]) => column);
    expect(found.map(({ name }) => name).sort()).toEqual([...known, 'created_at'].sort());
    expect(Object.keys(COLUMNS)).toEqual([...PLANT_FIELDS, 'idempotencyKey', 'createdBy', 'writeId']);
  });

  it('should take back the plant of a probe, and say if it was left out', async () => {
    await repository.probe();
    expect(await pool.execute('SELECT FROM plants')).toEqual([]);
    await database.query(`CREATE FUNCTION omit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER omit BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION omit()`);
    await expect(repository.probe()).rejects.toThrow(PlantLeftOutError);
  });
});

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

  const refusal = (code: string, routine = ''): Error =>
    Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, routine, severity: 'ERROR' });
  const noConnection = new DatabaseUnreachableError('', { cause: refusal('28P01') });

  it.each<[what: string, Error, RegExp]>([
    ['a standby', refusal('25006'), /^the database accepts no writes: it is a standby, or read-only$/],
    ['a full disk', refusal('53100'), /^the disk of the database is full$/],
    ['a missing column', refusal('42703'), /^the database refuses creates \(SQLSTATE 42703\)$/],
    ['a wrong password', noConnection, /^the database refuses creates \(SQLSTATE 28P01\)$/],
    ['a missing right', refusal('42501', 'aclcheck_error'), /^the role lacks a right that a create needs/],
    ['a policy', refusal('42501'), /^degraded: .* refuses an ordinary plant \(SQLSTATE 42501\)$/],
    ['a constraint', refusal('23514'), /^degraded: .* refuses an ordinary plant \(SQLSTATE 23514\)$/],
    ['a rule', new PlantLeftOutError(), /^degraded: .* refuses an ordinary plant$/],
  ])('should say why after %s, also while the next probe gets no connection', async (_, error, reason) => {
    probe.mockRejectedValueOnce(error).mockRejectedValueOnce(new DatabaseOverloadedError('busy'));
    for (const later of [0, 2000]) expect(await outcomeAfter(later)).toMatch(reason);
    expect(probe).toHaveBeenCalledTimes(2);
  });
});
