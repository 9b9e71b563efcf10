import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { PlantLeftOutError } from '../prisma/database.errors.js';
import { PrismaService } from '../prisma/prisma.service.js';
import { StorePool, UrlPool } from '../prisma/store-pool.js';
import { PLANT_FIELDS } from './new-plant.js';
import { COLUMNS, type PlantRecord, PlantsRepository } from './plants.repository.js';

/** A new optional field is absent here. */
const ROSE = { id: 1n, name: 'Rose', tag: null, idempotencyKey: 'a', createdBy: 'ann', writeId: 7n } as PlantRecord;

describe(PlantsRepository.name, () => {
  let database: TestDatabase;
  let pool: UrlPool;
  let prisma: PrismaService;
  let repository: PlantsRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new UrlPool({ url: database.url, size: 1 });
    prisma = new PrismaService(pool);
    repository = new PlantsRepository(prisma, pool);
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

  it('should insert one plant and several by Prisma, and find them as they were', async () => {
    const sent = jest.spyOn(prisma, '$queryRaw');
    const others = [2n, 3n].map((id) => ({
      ...ROSE,
      id,
      tag: 'a "NULL"\\, NULL',
      idempotencyKey: null,
      writeId: 7n + id,
    }));
    expect(await repository.insert([ROSE])).toEqual(['7']);
    expect(await repository.insert([...others, { ...ROSE, writeId: 10n }])).toEqual(['9', '10']);
    const found = await repository.findExisting([...others, ROSE]);
    expect([1n, 2n, 3n].map((id) => found.get(id))).toMatchObject([ROSE, ...others]);
    expect(sent).toHaveBeenCalledTimes(3);
  });

  it('should prepare each of its statements once on a connection', async () => {
    for (let id = 10n; id < 30n; id += 1n) {
      await repository.insert([{ ...ROSE, id }]);
      await repository.insert([{ ...ROSE, id }, ROSE]);
      await repository.findExisting([ROSE]);
    }
    expect(await pool.select('SELECT FROM pg_prepared_statements')).toHaveLength(3);
  });
});

describe('its probe', () => {
  const sent: string[] = [];
  const insert = jest.fn<() => Promise<unknown>>();
  const query = async (sql: string): Promise<unknown> => {
    sent.push(sql);
    return sql.startsWith('INSERT') ? insert() : { rows: [] };
  };
  const client = { query, release: jest.fn() };
  const pool = { schema: 'public', timeout: 1000, connect: () => Promise.resolve(client) } as unknown as StorePool;
  const refused = (code: string): Error =>
    Object.assign(new pg.DatabaseError('', 0, 'error'), { code, severity: 'ERROR' });
  let repository: PlantsRepository;

  beforeEach(() => {
    jest.useFakeTimers();
    sent.splice(0);
    insert.mockReset().mockResolvedValue({ rows: [{}] });
    repository = new PlantsRepository({} as PrismaService, pool);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('should roll back, and say if the plant was left out', async () => {
    insert.mockResolvedValueOnce({ rows: [] });
    await expect(repository.probe()).rejects.toThrow(PlantLeftOutError);
    expect([sent[0], sent.at(-1)]).toEqual(['BEGIN', 'ROLLBACK']);
    expect(client.release).toHaveBeenCalledTimes(1);
  });

  it('should ask for room for a minute after it has found none', async () => {
    const isLargeAfter = async (milliseconds: number, failure?: Error): Promise<boolean> => {
      jest.advanceTimersByTime(milliseconds);
      if (failure) insert.mockRejectedValueOnce(failure);
      await repository.probe().catch(() => undefined);
      return sent.findLast((sql) => sql.startsWith('INSERT'))?.includes('generate_series') ?? false;
    };
    expect(await isLargeAfter(0, refused('53300'))).toBe(false);
    expect(await isLargeAfter(0, refused('53100'))).toBe(false);
    expect(await isLargeAfter(2000, refused('53100'))).toBe(true);
    expect(await isLargeAfter(50_000)).toBe(true);
    expect(await isLargeAfter(11_000)).toBe(false);
  });
});
