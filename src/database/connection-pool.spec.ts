import { afterEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createTestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { until } from '../../test/support/until.js';
import { ConnectionPool } from './connection-pool.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it.each([
  ['warn of an idle connection that the server ends', false],
  ['not warn of it when it closes its connections itself', true],
])('should %s', async (_, closes) => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const database = await createTestDatabase({ migrated: false });
  const proxy = await TcpProxy.start(database.url);
  const pool = new ConnectionPool({ url: proxy.url });
  const client = await pool.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  client.release();

  // The server ends the connection before it reads that the client does.
  proxy.freeze();
  const ended = closes ? pool.end() : undefined;
  await database.query(`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0}, 10000)`);
  proxy.restore();
  await until(() => proxy.connections === 0);

  await (ended ?? pool.end());
  const message = expect.stringContaining('terminating connection due to administrator command') as unknown;
  expect(warn.mock.calls).toEqual(closes ? [] : [[message]]);
  await proxy.close();
  await database.drop();
});

it('should give each statement one name, and no two the same; and none behind a pooler', async () => {
  const pool = new ConnectionPool({ url: 'postgresql://localhost/plants' });
  const name = pool.nameOf('SELECT 1');
  expect(name).not.toBe('');
  expect(pool.nameOf('SELECT 2')).not.toBe(name);
  expect(pool.nameOf('SELECT 1')).toBe(name);
  const pooled = new ConnectionPool({ url: 'postgresql://localhost/plants?pgbouncer=true' });
  expect(pooled.nameOf('SELECT 1')).toBe('');
  await Promise.all([pool.end(), pooled.end()]);
});

it('should give a connection that no statement needs any more back, and notice that one is lost before', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const database = await createTestDatabase({ migrated: false });
  const pool = new ConnectionPool({ url: database.url });
  const pids = (): Promise<string[]> => pool.queryColumn('SELECT pg_catalog.pg_backend_pid()::text', []);
  const [pid] = await pids();
  // Kept for the next statement, it is free for everybody.
  expect(pool.inUse).toBe(0);
  expect(pool.idleCount).toBe(0);
  const client = await pool.connect();
  expect(pool.inUse).toBe(1);
  client.release();
  expect(await pids()).toEqual([pid]);
  await until(() => pool.idleCount === 1);

  expect(await pids()).toEqual([pid]);
  await database.query(`SELECT pg_terminate_backend(${pid ?? ''}, 10000)`);
  await until(() => pool.totalCount === 0);
  expect(warn.mock.calls).toEqual([[expect.stringContaining('terminating connection due to administrator command')]]);
  const [other] = await pids();
  expect(other).not.toBe(pid);
  await pool.end();
  await database.drop();
});

it('should use no connection again whose statement was cancelled, as the server may go on with that', async () => {
  const database = await createTestDatabase({ migrated: false });
  const pool = new ConnectionPool({ url: database.url });
  const pid = async (): Promise<string | undefined> =>
    (await pool.queryColumn('SELECT pg_catalog.pg_backend_pid()::text', []))[0];
  const first = await pid();
  await expect(pool.queryColumn('SELECT 1/0', [])).rejects.toThrow('division by zero');
  expect(await pid()).toBe(first);

  const sleeping = expect(pool.queryColumn('SELECT pg_catalog.pg_sleep(60)::text', [])).rejects.toThrow('canceling');
  const active = `FROM pg_stat_activity WHERE pid = ${first} AND state = 'active' AND query LIKE '%pg_sleep(60)%'`;
  await until(async () => (await database.query(`SELECT pg_cancel_backend(pid) ${active}`)).length === 1);
  await sleeping;
  expect(await pid()).not.toBe(first);
  await pool.end();
  await database.drop();
});
