import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, endPool, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { expectTrouble, Guest } from '../support/host/host.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { until } from '../support/until.js';

// Long enough for a busy machine to create a plant.
const TIMEOUT = 1500;

describe('trouble with a pool of the host', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let pool: pg.Pool;
  let guest: Guest;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    pool = new pg.Pool({ connectionString: proxy.url, max: 1 });
    // As an application does that lives on when idle connections are lost.
    pool.on('error', () => undefined);
    guest = await Guest.start({ pool, timeout: TIMEOUT });
    await guest.expectCreated(1);
  });
  afterEach(async () => {
    proxy.restore();
    await guest.stop();
    await endPool(pool);
    await proxy.close();
    await database.drop();
  });

  const stored = async (): Promise<unknown> =>
    (await database.query('SELECT id FROM plants ORDER BY id')).map(({ id }) => Number(id));

  /** The create of plant 2 fails in time; when the trouble is over, the next one does not. */
  async function expectPassing(error: 50300 | 50301 | 50400, end: () => unknown): Promise<void> {
    const start = performance.now();
    expectTrouble(await guest.create(2), error);
    expect(performance.now() - start).toBeLessThan(4 * TIMEOUT);
    proxy.restore();
    await end();
    await until(async () => (await guest.create(3)).status === 200);
    expect(await stored()).toEqual([1, 3]);
    expect((await pool.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
  }

  it.each(['reset', 'freeze'] as const)('should be 50300 before the transaction has begun: %s', async (how) => {
    proxy[how]();
    await expectPassing(50300, () => undefined);
  });

  it('should be 50301 if no connection becomes free', async () => {
    const busy = await pool.connect();
    await expectPassing(50301, () => {
      busy.release();
    });
  });

  it.each(['nothing', 'reset', 'freeze'] as const)('should be 50400 under a statement that waits: %s', async (how) => {
    const lock = await TableLock.take(database);
    const breaking = how === 'nothing' ? Promise.resolve() : lock.awaited().then(proxy[how].bind(proxy));
    await expectPassing(50400, () => lock.release());
    await breaking;
  });

  it('should not keep a create from its 200 if the answer to the commit is lost', async () => {
    proxy.loseAnswerTo('COMMIT');
    await guest.expectCreated(2);
    expect(await stored()).toEqual([1, 2]);
  });
});
