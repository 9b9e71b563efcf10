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
