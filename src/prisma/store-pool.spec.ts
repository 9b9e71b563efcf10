import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { until } from '../../test/support/until.js';
import { reasonOf } from '../util/text.js';
import { DatabaseLostError, DatabaseUnreachableError } from './database.errors.js';
import { PrismaService } from './prisma.service.js';
import { StorePool, UrlPool } from './store-pool.js';

const TIMEOUT = 500;
const SLEEP = 'SELECT pg_catalog.pg_sleep(60)::text';

describe(StorePool.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let ours: UrlPool;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
  });
  afterEach(() => ours.onApplicationShutdown());
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  const open = (parameters: string, timeout = TIMEOUT): void => {
    const url = `${proxy.url}${proxy.url.includes('?') ? '&' : '?'}${parameters}`;
    ours = new UrlPool({ url, size: 1, timeout });
  };
  const pid = async (): Promise<unknown> => (await ours.select<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0];
  const sleeping = (): Promise<unknown[]> =>
    database.query(`SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`);

  it.each<[string, string, (prisma: PrismaService) => Promise<unknown>]>([
    ['a statement', 'canceling statement due to statement timeout', (prisma) => prisma.$queryRawUnsafe(SLEEP)],
    [
      'a statement that the server does not limit',
      'did not answer within',
      (prisma) =>
        prisma.$transaction(async (own) => {
          await own.$executeRaw`SET LOCAL statement_timeout = 0`;
          await own.$queryRawUnsafe(SLEEP);
        }),
    ],
  ])('should end on the server what is late, and use the place of its connection: %s', async (_, message, send) => {
    open('');
    const prisma = new PrismaService(ours);
    await prisma.$queryRaw`SELECT 1`;
    await expect(send(prisma)).rejects.toThrow(message);
    await until(async () => (await sleeping()).length === 0);
    await until(() => ours.connectionsInUse === 0);
    expect(await pid()).toEqual({ pid: expect.any(Number) });
  });

  it.each([
    ['cancelled', SLEEP, '57014'],
    ['refused as the server is read-only', 'CREATE TABLE refused ()', '25006'],
  ])('should use a connection again after a rejection, unless its statement was %s', async (_, sql, code) => {
    open('options=-c%20default_transaction_read_only%3Don');
    const first = await pid();
    await expect(ours.select('SELECT (1 / 0)::text')).rejects.toMatchObject({ code: '22012' });
    expect(await pid()).toEqual(first);
    await expect(ours.select(sql)).rejects.toMatchObject({ code });
    expect(await pid()).not.toEqual(first);
  });

  // What a role, a database, PGOPTIONS or the URL sets must not change what is stored or answered.
  it.each(['', 'pgbouncer=true&'])('should set in a session all that the store relies on: %s', async (mode) => {
    const odd = {
      synchronous_commit: 'off',
      array_nulls: 'off',
      client_min_messages: 'error',
      TimeZone: 'Asia/Kathmandu',
      DateStyle: 'German',
      lock_timeout: '7',
      extra_float_digits: '-15',
    };
    const options = Object.entries(odd).map(([name, value]) => `-c ${name}=${value}`);
    open(`${mode}options=${encodeURIComponent(`${options.join(' ')} -c default_transaction_isolation=serializable`)}`);
    const settings = await ours.select<{ name: string; value: string }>(
      `SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name`,
      [[...Object.keys(odd), 'transaction_isolation']],
    );
    expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual({
      synchronous_commit: 'on',
      array_nulls: 'on',
      client_min_messages: 'notice',
      TimeZone: 'UTC',
      DateStyle: 'ISO, MDY',
      lock_timeout: '0',
      extra_float_digits: '1',
      transaction_isolation: 'read committed',
    });
  });

  it('should leave a commit that waits until its standby has applied it', async () => {
    open('options=-c%20synchronous_commit%3Dremote_apply');
    expect(await ours.select('SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'remote_apply' }]);
  });

  it('should say of a connection that is lost that the outcome is unknown, and of none that nothing was sent', async () => {
    open('', 60_000);
    const lost = expect(new PrismaService(ours).$queryRawUnsafe(SLEEP)).rejects.toThrow(DatabaseLostError);
    await until(async () => (await sleeping()).length > 0);
    proxy.reset();
    await lost;
    await expect(new PrismaService(ours).$queryRawUnsafe('SELECT 1')).rejects.toThrow(DatabaseUnreachableError);
    proxy.restore();
  });
});

describe(reasonOf.name, () => {
  it('should say in one line why no address of a host could be reached', () => {
    const [refused, late] = [new Error('connect ECONNREFUSED ::1:5432'), new Error(' it took\n  too long\n')];
    expect(reasonOf(new AggregateError([refused, late, refused]))).toBe(`${refused.message}; it took too long`);
  });
});
