import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { Stopwatch } from '../../test/support/stopwatch.js';
import { until } from '../../test/support/until.js';
import { PrismaService } from './prisma.js';
import { UrlDatabase } from './url-database.js';

const TIMEOUT = 500;
/** Of the cancelled statement. */
const ANSWER_MS = 1000;
const PID = 'SELECT pg_catalog.pg_backend_pid()::text AS pid';
const SLEEP = 'SELECT pg_catalog.pg_sleep(60)::text';

describe(UrlDatabase.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let ours: UrlDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    proxy.restore();
    await ours.onApplicationShutdown();
    await proxy.close();
    await database.drop();
  });

  /** Behind a pooler, for which the URL of a session stands here, the server has no time limit of its own. */
  const open = (size: number, parameters = 'pgbouncer=true'): UrlDatabase =>
    (ours = new UrlDatabase({
      url: `${proxy.url}${proxy.url.includes('?') ? '&' : '?'}${parameters}`,
      size,
      timeout: TIMEOUT,
    }));
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
    open(1);
    using stopwatch = new Stopwatch();
    await expect(send()).rejects.toThrow(`the database did not answer within ${TIMEOUT} ms`);
    expect(stopwatch.elapsed).toBeLessThan(TIMEOUT + ANSWER_MS);
    await until(async () => (await sleeping()).length === 0);
    await until(() => ours.connectionsInUse === 0);
    await pid();
  });

  it('should give up a connection whose server does not answer at all', async () => {
    open(1);
    await pid();
    proxy.freezeOpen();
    await expect(pid()).rejects.toThrow('did not answer');
    await until(() => ours.connectionsInUse === 0);
    await pid();
  });

  it('should say that nothing was sent if there was no connection in time, and send nothing later', async () => {
    open(1);
    const late = expect(ours.queryColumn(SLEEP, [])).rejects.toThrow('did not answer');
    await expect(ours.query('CREATE TABLE late ()')).rejects.toMatchObject({ name: 'ConnectionPoolExhaustedError' });
    await late;
    await until(() => ours.connectionsInUse === 0);
    proxy.freeze();
    proxy.reset();
    await expect(ours.query('CREATE TABLE late ()')).rejects.toMatchObject({ name: 'DatabaseUnreachableError' });
    proxy.restore();
    await pid();
    expect(await database.query(`SELECT to_regclass('late') AS late`)).toEqual([{ late: null }]);
  });

  it.each([
    ['cancelled', SLEEP, '57014'],
    ['refused as the server is read-only', 'CREATE TABLE refused ()', '25006'],
  ])('should use a connection again after a rejection, unless its statement was %s', async (_, sql, code) => {
    open(1, 'options=-c%20default_transaction_read_only%3Don');
    const first = await pid();
    await expect(ours.queryColumn('SELECT (1 / 0)::text', [])).rejects.toMatchObject({ code: '22012' });
    expect(await pid()).toBe(first);
    await expect(ours.query(sql)).rejects.toMatchObject({ code });
    expect(await pid()).not.toBe(first);
  });

  it('should warn of an idle connection that the server ends', async () => {
    open(1);
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    await database.query(`SELECT pg_terminate_backend(${(await pid()) ?? ''}, 10000)`);
    await until(() => warn.mock.calls.length > 0);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('terminating connection due to administrator command')]]);
  });
});
