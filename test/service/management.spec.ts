import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { spawnSync } from 'node:child_process';
import { makeToken } from '../../src/auth/token-format.js';
import { TableLock } from '../support/database/test-database.js';
import { type ProxiedStore, startProxiedStore } from '../support/service/store.js';
import { issueToken } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

describe('The management listener', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    // One connection, so that creates wait for it.
    store = await startProxiedStore({ DATABASE_POOL_SIZE: '1' });
  });
  afterAll(() => store.stop());

  const managed = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${store.managementPort}${path}`);
  const metrics = async (): Promise<string> => (await managed('/metrics')).text();
  /** How much the samples have grown meanwhile, each named with its label. */
  async function growth(names: readonly string[], work: () => Promise<unknown>): Promise<number[]> {
    const read = async (): Promise<number[]> => {
      const page = `\n${await metrics()}`;
      return names.map((name) => Number(page.split(`\nplant_store_${name} `)[1]?.split('\n')[0]));
    };
    const before = await read();
    await work();
    return (await read()).map((value, at) => value - (before[at] ?? 0));
  }
  const isReady = async (): Promise<boolean> => (await managed('/readyz')).status === 200;

  it('should have metrics of the store and of the process, which Prometheus can read', async () => {
    expect((await managed('/metrics')).headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect((await managed('/plants')).status).toBe(404);
    const page = await metrics();
    for (const name of ['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds'])
      expect(page).toMatch(new RegExp(`^${name} (?:[\\d.e-]+|Nan)$`, 'm'));
    const input = page.replace(/^(?!.*plant_store_).*\n/gm, '');
    const checked = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
    if ((checked.error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && process.env.CI === undefined) return;
    expect(checked).toMatchObject({ status: 0, stderr: '' });
  });

  it('should count creates and refusals, by number and outcome, and wrong tokens, but no visit of /docs', async () => {
    expect(await metrics()).toMatch(/^plant_store_requests_total\{error="50400"\} 0$/m);
    const expected = {
      'requests_total{error="0"}': 2,
      'requests_total{error="40101"}': 1,
      'requests_total{error="40901"}': 1,
      'request_duration_seconds_count{outcome="success"}': 2,
      'request_duration_seconds_bucket{le="+Inf",outcome="success"}': 2,
      'request_duration_seconds_count{outcome="refused"}': 3,
      plants_created_total: 2,
      wrong_tokens_total: 2,
    };
    const grown = await growth(Object.keys(expected), async () => {
      for (const path of ['/docs', '/openapi.json']) await fetch(`http://127.0.0.1:${store.port}${path}`);
      for (const id of [1, 2, 2]) await store.create(id);
      for (const Authorization of [`Bearer ${makeToken()}`, 'Bearer']) await store.create(3, { Authorization });
    });
    expect(grown).toEqual(Object.values(expected));
  });

  it('should show when the first of the tokens in use ends', async () => {
    const days = [15, 13, 1].map((count) =>
      issueToken(store.database, { name: `days-${count}`, expires: `${count} days` }),
    );
    for (const token of (await Promise.all(days)).slice(0, 2)) await store.post('{}', token.headers);
    const [, seconds] = /^plant_store_token_expires_seconds (\S+)$/m.exec(await metrics()) ?? [];
    expect(Math.ceil(Number(seconds) / 3600)).toBe(13 * 24);
  });

  it('should show the pool, the statements and the queue, and stay ready while the table is locked', async () => {
    const names = ['statement_plants_sum', 'statement_plants_count', 'statement_duration_seconds_count'];
    const grown = await growth(names, async () => {
      await using lock = await TableLock.take(store.database);
      const first = store.create(11);
      await lock.awaited();
      const others = [12, 13, 14].map((id) => store.create(id));
      const shown = ['creates_waiting 3', 'creates_in_flight 1', 'database_connections_in_use 1', 'ready 1'];
      await until(async () => {
        const page = await metrics();
        return shown.every((line) => page.includes(`\nplant_store_${line}\n`));
      });
      await lock.release();
      for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200);
    });
    expect(grown).toEqual([4, 2, 2]);
    expect(await metrics()).toMatch(/^plant_store_database_connection_wait_seconds_count [1-9]/m);
  });

  it('should tell that the database is away, log each change once, be live nevertheless, and recover', async () => {
    const log = (['warn', 'log'] as const).map((level) => jest.spyOn(Logger.prototype, level).mockReturnValue());
    store.proxy.reset();
    await until(async () => !(await isReady()));
    const body = '{"status":"unavailable","reason":"the database cannot be reached"}';
    expect(await (await managed('/readyz')).text()).toBe(body);
    expect(await metrics()).toMatch(/^plant_store_ready 0$/m);
    expect(await (await managed('/livez')).text()).toBe('{"status":"ok"}');
    store.proxy.restore();
    await until(isReady);
    const lines = log.flatMap(({ mock }) => mock.calls.flat().map(String)).filter((line) => line.includes('ready'));
    expect(lines.filter((line, at) => line !== lines[at - 1])).toEqual(lines);
    expect(lines[0]).toMatch(/^The service is not ready: the database /);
    expect(lines.at(-1)).toBe('The service is ready again');
    jest.restoreAllMocks();
  });
});
