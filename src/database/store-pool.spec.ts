import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { reasonOf } from '../util/text.js';
import {
  DatabaseLostError,
  DatabaseOverloadedError,
  isPlantRejected,
  isRejectedForNow,
  isRejection,
  isUndecided,
  NothingWrittenError,
} from './database.errors.js';
import type { PgClientLike } from './database.options.js';
import { HostPool } from './host-pool.js';
import { PrismaService } from './prisma.service.js';
import { StorePool, UrlPool } from './store-pool.js';

/** What pg, or the network, gives for an error. */
const answer = (code: string, severity?: string): Error =>
  Object.assign(new pg.DatabaseError('', 0, 'error'), { code, severity });
/** An error of Prisma's client for a rejection. */
const ofPrisma = (originalCode?: string, code = 'P2010'): Error =>
  Object.assign(new Error(), { code, meta: { driverAdapterError: { cause: { originalCode } } } });

describe('A failed statement', () => {
  it.each([
    ['the server is read-only for now', ofPrisma('25006'), 'rejected for now'],
    ['an object was in use', ofPrisma('55P03'), 'rejected for now, perhaps for one plant'],
    ['a privilege is missing', ofPrisma('42501'), 'rejected'],
    ['a constraint is violated', ofPrisma('23505', 'P2002'), 'rejected, perhaps for one plant'],
    ['no connection was free', new DatabaseOverloadedError(''), 'not sent'],
    ['the statement was cancelled', ofPrisma('57014'), 'undecided'],
    ['a pooler has lost the server', ofPrisma('08006'), 'undecided'],
    ['the connection was lost by a rejection', new DatabaseLostError('', { cause: answer('57P01') }), 'undecided'],
    ['something that is no error was thrown', undefined, 'undecided'],
  ])('should, if %s, be told from its error', (_, error, expected) => {
    const forNow = isRejectedForNow(error) ? ' for now' : '';
    const forOnePlant = isPlantRejected(error) ? ', perhaps for one plant' : '';
    const rejected = `rejected${forNow}${forOnePlant}`;
    const isNotSent = error instanceof NothingWrittenError;
    expect(isUndecided(error) ? 'undecided' : isNotSent ? 'not sent' : rejected).toBe(expected);
  });

  it('should say in one line why no address of a host could be reached', () => {
    const [refused, late] = [new Error('connect ECONNREFUSED ::1:5432'), new Error(' it took\n  too long\n')];
    expect(reasonOf(new AggregateError([refused, late, refused]))).toBe(`${refused.message}; it took too long`);
  });
});

describe(StorePool.name, () => {
  let database: TestDatabase;
  let ours: UrlPool;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => ours.onApplicationShutdown());
  afterAll(() => database.drop());

  const open = (parameters: Record<string, string> = {}): void => {
    const url = new URL(database.url);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    ours = new UrlPool({ url: url.href, size: 1, timeout: 1500 });
  };
  const pid = async (): Promise<unknown> => (await ours.execute<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0];

  it.each([
    ['cancelled', 'SELECT pg_sleep(60)::text', '57014'],
    ['refused as the server is read-only', 'CREATE TABLE refused ()', '25006'],
  ])('should use a connection again after a rejection, unless its statement was %s', async (_, sql, code) => {
    open({ options: '-c default_transaction_read_only=on' });
    const first = await pid();
    await expect(ours.execute('SELECT (1 / 0)::text')).rejects.toMatchObject({ code: '22012' });
    expect(await pid()).toEqual(first);
    await expect(ours.execute(sql)).rejects.toMatchObject({ code });
    expect(await pid()).not.toEqual(first);
  });

  // What a role, a database, PGOPTIONS or the URL sets must not change what is stored or answered.
  it.each(['false', 'true'])('should set all that the store relies on, with pgbouncer=%s', async (pgbouncer) => {
    const settings = [
      ['synchronous_commit', 'off', 'on'],
      ['array_nulls', 'off', 'on'],
      ['TimeZone', 'Asia/Kathmandu', 'UTC'],
      ['DateStyle', 'German', 'ISO, MDY'],
      ['lock_timeout', '7', '0'],
      ['extra_float_digits', '-15', '1'],
      ['default_transaction_isolation', 'serializable', 'read committed'],
    ] as const;
    open({ pgbouncer, options: settings.map(([name, odd]) => `-c ${name}=${odd}`).join(' ') });
    const expected = settings.map(([name, , value]) => ({ name: name.replace('default_', ''), value }));
    const sql = 'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name';
    const names = expected.map(({ name }) => name);
    expect(await ours.execute(sql, [names])).toEqual(expected);
  });

  it.each([
    ['gone', '26000', 'DEALLOCATE ALL'],
    ['there already', '42P05', 'DEALLOCATE ALL; PREPARE one AS SELECT 2'],
  ])('should execute nothing if a prepared statement is %s, and close the connection', async (_, code, change) => {
    open();
    const prepared = { name: 'one', text: 'SELECT 1 AS one' };
    for (let round = 0; round < 2; round += 1) {
      const first = await pid();
      if (code === '26000') await ours.query(prepared);
      await ours.execute(change);
      const cause: unknown = expect.objectContaining({ code });
      const message: unknown = expect.stringContaining('?pgbouncer=true');
      await expect(ours.query(prepared)).rejects.toMatchObject({ name: 'DatabaseUnreachableError', message, cause });
      expect(await pid()).not.toEqual(first);
    }
  });

  it('should carry the statements of Prisma, prepared by names of their texts, and no transaction of it', async () => {
    open();
    const names = 'SELECT name FROM pg_prepared_statements ORDER BY name';
    const prepare = async (values: number[]): Promise<unknown[]> => {
      const prisma = new PrismaService(ours);
      for (const value of values) await prisma.$queryRawUnsafe(`SELECT ${value}::int`);
      return ours.execute(names);
    };
    const first = await prepare([1, 2]);
    expect(first).toEqual(Array(2).fill({ name: expect.stringMatching(/^plant_store_[0-9a-f]{16}$/) }));
    await ours.onApplicationShutdown();
    open();
    expect(await prepare([2, 1, 2])).toEqual(first);
    const transaction = new PrismaService(ours).$transaction((client) => client.$queryRaw`SELECT 1`);
    await expect(transaction).rejects.toThrow('transactions of Prisma cannot be used');
    expect(ours.connectionsInUse).toBe(0);
  });

  describe('on a pool of a host', () => {
    const release = jest.fn<(fault?: Error) => void>();
    const query = jest.fn<(statement: { text: string }) => Promise<unknown>>();
    let client: EventEmitter;

    beforeAll(() => {
      open();
    });

    function lend(connect: () => unknown = () => client): HostPool {
      release.mockReset();
      query.mockReset().mockResolvedValue({ rows: [] });
      client = Object.assign(new EventEmitter(), { query, release });
      return new HostPool({ pool: { connect: () => Promise.resolve(connect() as PgClientLike) }, timeout: 100 });
    }
    const texts = (): string[] => query.mock.calls.map(([{ text }]) => text.split(' ', 1)[0] ?? '');

    it('should send nothing on a connection that comes too late, and give it back', async () => {
      const pool = lend(() => {
        const start = performance.now();
        // No timer fires meanwhile.
        while (performance.now() < start + 150);
        return client;
      });
      await expect(pool.execute('INSERT')).rejects.toMatchObject({ name: 'DatabaseUnreachableError' });
      expect([texts(), release.mock.calls, pool.connectionsInUse]).toEqual([[], [[]], 0]);
    });

    it.each<[string, Error, boolean, string[]]>([
      ['rejects the statement', answer('23514', 'ERROR'), true, ['BEGIN', 'SELECT', 'ROLLBACK']],
      ['does so in another language', answer('23514', 'FEHLER'), true, ['BEGIN', 'SELECT', 'ROLLBACK']],
      ['is read-only', answer('25006', 'ERROR'), false, ['BEGIN', 'SELECT']],
      ['is lost', new Error('ended'), false, ['BEGIN', 'SELECT']],
    ])('should roll back and keep the connection, or close it, if the server %s', async (_, error, isKept, sent) => {
      const pool = lend();
      query.mockImplementation(({ text }) => (text === 'SELECT' ? Promise.reject(error) : Promise.resolve()));
      const failure = await pool.execute('SELECT').catch((cause: unknown) => cause);
      expect(isRejection(error) ? failure : (failure as Error).cause).toBe(error);
      expect(texts()).toEqual(sent);
      expect(release.mock.calls).toEqual([[isKept ? undefined : failure]]);
    });
  });
});
