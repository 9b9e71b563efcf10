import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { until } from '../../test/support/until.js';
import { PrismaService } from './prisma.js';
import { UrlDatabase } from './url-database.js';

const TIMEOUT = 500;
const PID = 'SELECT pg_catalog.pg_backend_pid()::text AS pid';
const SLEEP = 'SELECT pg_catalog.pg_sleep(60)::text';

describe(UrlDatabase.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let ours: UrlDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
  });
  afterEach(async () => {
    proxy.restore();
    await ours.onApplicationShutdown();
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  /** Behind a pooler, for which the URL of a session stands here, the server has no time limit of its own. */
  function open(parameters = 'pgbouncer=true'): UrlDatabase {
    const url = `${proxy.url}${proxy.url.includes('?') ? '&' : '?'}${parameters}`;
    return (ours = new UrlDatabase({ url, size: 1, timeout: TIMEOUT }));
  }
  const pid = async (): Promise<string | undefined> => (await ours.queryColumn(PID, []))[0];
  const sleeping = (): Promise<unknown[]> =>
    database.query(`SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`);

  it.each([
    ['a statement', () => ours.queryColumn(SLEEP, [])],
    ["Prisma's client", () => new PrismaService(ours).$queryRawUnsafe(SLEEP)],
    [
      "a transaction of Prisma's client",
      () => new PrismaService(ours).$transaction((prisma) => prisma.$queryRawUnsafe(SLEEP)),
    ],
  ])('should end on the server what is late, and use the place of its connection: %s', async (_, send) => {
    open();
    await expect(send()).rejects.toThrow(`the database did not answer within ${TIMEOUT} ms`);
    await until(async () => (await sleeping()).length === 0);
    await until(() => ours.connectionsInUse === 0);
    await pid();
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
