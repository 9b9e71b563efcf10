import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, endPool, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { expectTrouble, Guest } from '../support/host/guest.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { until } from '../support/until.js';

// Long enough for a busy machine to create a plant.
const TIMEOUT = 1500;
const SLACK = 3 * TIMEOUT;

let database: TestDatabase;
let proxy: TcpProxy;
let pool: pg.Pool;
let guest: Guest;

async function start(): Promise<void> {
  database = await createTestDatabase();
  proxy = await TcpProxy.start(database.url);
  pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
  // As an application does that lives on when idle connections are lost.
  pool.on('error', () => undefined);
  guest = await Guest.start({ pool, timeout: TIMEOUT });
}

async function stop(): Promise<void> {
  proxy.restore();
  await guest.stop();
  await endPool(pool);
  await proxy.close();
  await database.drop();
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const before = performance.now();
  const result = await work;
  expect(performance.now() - before).toBeLessThan(TIMEOUT + SLACK);
  return result;
}

const stored = async (): Promise<unknown> =>
  (await database.query('SELECT id FROM plants ORDER BY id')).map(({ id }) => Number(id));

describe('trouble with a borrowed pool', () => {
  beforeEach(start);
  afterEach(stop);

  it('should be answered with 50300 if the server is stopped', async () => {
    await guest.expectCreated(1);
    await proxy.close();
    await until(() => pool.totalCount === 0);
    for (const answer of await Promise.all([2, 3, 4].map((id) => guest.create(id)))) expectTrouble(answer, 50300);
    await expect(guest.health.check()).rejects.toThrow('the database cannot be reached');
    expect(await stored()).toEqual([1]);
  });

  it('should be answered with 50400 if a statement waits too long, and leave no setting behind', async () => {
    await guest.expectCreated(1);
    await using lock = await TableLock.take(database);
    expectTrouble(await inTime(guest.create(2)), 50400);
    await lock.release();
    await guest.expectCreated(3);
    expect(await stored()).toEqual([1, 3]);
    expect((await pool.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
  });

  it('should be seen by the health check if the table is locked, or the database read-only', async () => {
    const reason = (): Promise<string> =>
      guest.health.check().then(
        () => '',
        (error: unknown) => (error as Error).message,
      );
    const lock = await TableLock.take(database);
    await until(async () => (await reason()).includes('SQLSTATE 55P03'));
    await lock.release();
    await until(async () => (await reason()) === '');
    await pool.query('SET default_transaction_read_only TO on');
    await until(async () => (await reason()).includes('read-only'));
    await pool.query('SET default_transaction_read_only TO off');
    await until(async () => (await reason()) === '');
    expect(await stored()).toEqual([]);
  });

  it('should be answered with 50400 if the connection breaks under a statement and stays away, and never with 50300', async () => {
    await using lock = await TableLock.take(database);
    const answer = guest.create(1);
    await lock.awaited();
    proxy.reset();
    expectTrouble(await inTime(answer), 50400);
    proxy.restore();
    await lock.release();
    await guest.expectCreated(2);
  });

  it('should not keep a create from its 200 if the answer to the commit is lost', async () => {
    proxy.loseAnswerTo('COMMIT');
    await inTime(guest.expectCreated(1));
    expect(await stored()).toEqual([1]);
    expect(await guest.create(1)).toMatchObject({ body: { error: 40901 } });
  });

  it('should be answered in time if the database falls silent', async () => {
    await guest.expectCreated(1);
    proxy.freeze();
    // Nothing of the create was sent before the transaction had begun.
    expectTrouble(await inTime(guest.create(2)), 50300);
    expect(await stored()).toEqual([1]);
  });

  it('should be answered with 50301 if no connection becomes free', async () => {
    const busy = await pool.connect();
    try {
      expectTrouble(await inTime(guest.create(1)), 50301);
    } finally {
      busy.release();
    }
    // What came too late was given back.
    await guest.expectCreated(2);
    await until(() =>
      guest.health.check().then(
        () => true,
        () => false,
      ),
    );
    expect(await stored()).toEqual([2]);
  });

  it('should be rid of a connection that fell silent, and go on', async () => {
    await guest.expectCreated(1);
    await using lock = await TableLock.take(database);
    const answer = guest.create(2);
    await lock.awaited();
    proxy.freeze();
    expectTrouble(await inTime(answer), 50400);
    await until(() => pool.totalCount === 0);
    proxy.restore();
    await lock.release();
    await guest.expectCreated(3);
  });
});
