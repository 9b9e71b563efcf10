import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { until } from '../../test/support/until.js';
import { reasonOf } from '../util/text.js';
import { PrismaService } from './prisma.js';
import { UrlDatabase } from './url-database.js';

const TIMEOUT = 500;
const SLEEP = 'SELECT pg_catalog.pg_sleep(60)::text';

describe(UrlDatabase.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let ours: UrlDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
  });
  afterEach(() => ours.onApplicationShutdown());
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  const open = (parameters: string): void => {
    const url = `${proxy.url}${proxy.url.includes('?') ? '&' : '?'}${parameters}`;
    ours = new UrlDatabase({ url, size: 1, timeout: TIMEOUT });
  };
  const pid = async (): Promise<string | undefined> =>
    (await ours.queryColumn('SELECT pg_catalog.pg_backend_pid()::text', []))[0];
  const sleeping = (): Promise<unknown[]> =>
    database.query(`SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`);

  // The first use of Prisma's client loads it: within a transaction, its own limit of time would pass.
  it.each([
    ['a statement', () => ours.queryColumn(SLEEP, [])],
    ["Prisma's client", () => new PrismaService(ours).$queryRawUnsafe(SLEEP)],
    ['its transaction', () => new PrismaService(ours).$transaction((own) => own.$queryRawUnsafe(SLEEP))],
  ])('should end on the server what is late, and use the place of its connection: %s', async (_, send) => {
    // Behind a pooler, the server has no time limit of its own.
    open('pgbouncer=true');
    await expect(send()).rejects.toThrow(`the database did not answer within ${TIMEOUT} ms`);
    await until(async () => (await sleeping()).length === 0);
    await until(() => ours.connectionsInUse === 0);
    expect(await pid()).toMatch(/^\d+$/);
  });

  it.each([
    ['cancelled', SLEEP, '57014'],
    ['refused as the server is read-only', 'CREATE TABLE refused ()', '25006'],
  ])('should use a connection again after a rejection, unless its statement was %s', async (_, sql, code) => {
    open('options=-c%20default_transaction_read_only%3Don');
    const first = await pid();
    await expect(ours.queryColumn('SELECT (1 / 0)::text', [])).rejects.toMatchObject({ code: '22012' });
    expect(await pid()).toBe(first);
    await expect(ours.query(sql)).rejects.toMatchObject({ code });
    expect(await pid()).not.toBe(first);
  });
});

describe(reasonOf.name, () => {
  it('should say in one line why no address of a host could be reached', () => {
    const [refused, late] = [new Error('connect ECONNREFUSED ::1:5432'), new Error(' it took\n  too long\n')];
    expect(reasonOf(new AggregateError([refused, late, refused]))).toBe(`${refused.message}; it took too long`);
  });
});
