import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { spawnSync } from 'node:child_process';
import { makeToken } from '../../src/auth/token-format.js';
import { TableLock } from '../support/database/test-database.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { requestHead } from '../support/http/request.js';
import { ProxiedStore } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const plant = (id: number): string => `{"id":${id},"name":"Rose"}`;

describe('The management listener', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    // One connection, so that creates wait for it.
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1' });
  });
  afterAll(() => store.stop());

  async function get(port: number, path: string, method = 'GET'): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open(port);
    connection.send(requestHead(`${method} ${path} HTTP/1.1`, { Authorization: undefined }));
    return await connection.response({ head: method === 'HEAD' });
  }

  const managed = (path: string, method?: string): Promise<RawResponse | undefined> =>
    get(store.managementPort, path, method);
  const metrics = async (): Promise<string> => (await managed('/metrics'))?.body ?? '';
  /** The one value of a metric. */
  const valueOf = async (name: string): Promise<number> =>
    Number(new RegExp(`^plant_store_${name} (\\S+)$`, 'm').exec(await metrics())?.[1]);
  /** The samples that are not 0, by the value of their only label. */
  const samples = async (name: string): Promise<Record<string, number>> => {
    const found = (await metrics()).matchAll(new RegExp(`^plant_store_${name}\\{[a-z]+="([^"]*)"\\} (\\S+)$`, 'gm'));
    const entries = Array.from(found, ([, label = '', value]): [string, number] => [label, Number(value)]);
    return Object.fromEntries(entries.filter(([, value]) => value !== 0));
  };

  it('should say without a token that the service is live and ready, and have nothing else', async () => {
    for (const path of ['/livez', '/readyz'])
      expect(await managed(path)).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    expect(await managed('/metrics', 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect(await managed('/plants')).toMatchObject({ status: 404 });
  });

  it.each(['/livez', '/readyz', '/metrics'])('should have %s to itself', async (path) => {
    store.expectRefused(await get(store.port, path), 40100);
    using connection = await RawConnection.open(store.port);
    connection.send(requestHead(`GET ${path} HTTP/1.1`));
    store.expectRefused(await connection.response(), 40400);
  });

  it('should have a page of twelve metrics of the store and those of the process, that Prometheus can read', async () => {
    const page = await managed('/metrics');
    expect(page).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    });
    const names = [...(page?.body ?? '').matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name.startsWith('plant_store_'))).toHaveLength(12);
    expect(names).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds']));
    const lines = page?.body.split('\n').filter((line) => line.includes('plant_store_')) ?? [];
    const { status, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: `${lines.join('\n')}\n` });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && process.env.CI === undefined) return;
    expect([error, status, String(stderr)]).toEqual([undefined, 0, '']);
  });

  it('should count every answer of the public listener, by its number and its outcome', async () => {
    expect(await metrics()).toMatch(/^plant_store_requests_total\{error="50400"\} 0$/m);
    const [before, outcomes] = [await samples('requests_total'), await samples('request_duration_seconds_count')];
    for (const id of [1, 2, 2]) await store.sendBody(plant(id));
    await get(store.port, '/nothing');
    const numbers = await samples('requests_total');
    const added = (number: string): number => (numbers[number] ?? 0) - (before[number] ?? 0);
    expect(['0', '40100', '40901'].map(added)).toEqual([2, 1, 1]);
    expect(await valueOf('plants_created_total')).toBe(2);
    const { success = 0, refused = 0 } = await samples('request_duration_seconds_count');
    expect([success - (outcomes.success ?? 0), refused - (outcomes.refused ?? 0)]).toEqual([2, 2]);

    const pattern = /^plant_store_request_duration_seconds_bucket\{le="[^"]+",outcome="success"\} (\d+)$/gm;
    const buckets = Array.from((await metrics()).matchAll(pattern), ([, count]) => Number(count));
    expect(buckets).toHaveLength(15);
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
    expect(buckets.at(-1)).toBe(success);
  });

  it('should count the requests that were refused for their token', async () => {
    const expired = await issueToken(store.database, { expires: '-1 second' });
    const before = await valueOf('wrong_tokens_total');
    for (const token of [makeToken(), 'nobodys-own-token-012345', expired.token])
      store.expectRefused(await store.sendBody('{}', { Authorization: `Bearer ${token}` }), 40101);
    store.expectRefused(await store.sendBody('{}', { Authorization: 'Bearer' }), 40102);
    // Neither is a wrong token.
    store.expectRefused(await get(store.port, '/plants'), 40100);
    store.expectRefused(await store.sendBody('{}'), 40003);
    expect(await valueOf('wrong_tokens_total')).toBe(before + 4);
  });

  it('should show when the first of the tokens in use ends', async () => {
    const days = [15, 13, 1].map((count) =>
      issueToken(store.database, { name: `days-${count}`, expires: `${count} days` }),
    );
    const [later, sooner] = await Promise.all(days);
    for (const token of [later, sooner]) await store.sendBody(plant(77), token?.headers);
    const end = await valueOf('token_expires_seconds');
    expect(end).toBeGreaterThan(13 * 86_400 - 60);
    expect(end).toBeLessThanOrEqual(13 * 86_400);
  });

  it('should tell that the table is locked, log each change once, and show the pool, the statements and the queue', async () => {
    const log = (['warn', 'log'] as const).map((level) => jest.spyOn(Logger.prototype, level).mockReturnValue());
    const created = await valueOf('statement_plants_sum');
    await using lock = await TableLock.take(store.database);
    await until(async () => (await managed('/readyz'))?.body.includes('SQLSTATE 55P03') === true);
    const first = store.create(11);
    await lock.awaited();
    const others = [12, 13, 14].map((id) => store.create(id));
    await until(async () => {
      const page = await metrics();
      const shown = ['creates_waiting 3', 'creates_in_flight 1', 'database_connections_in_use 1'];
      return shown.every((line) => page.includes(`plant_store_${line}\n`));
    });

    await lock.release();
    for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200);
    await until(async () => (await valueOf('database_connections_in_use')) === 0);
    expect(await valueOf('creates_in_flight')).toBe(0);
    expect(await valueOf('database_connection_wait_seconds_count')).toBeGreaterThan(0);
    expect((await valueOf('statement_plants_sum')) - created).toBe(4);
    expect(await valueOf('statement_duration_seconds_count')).toBe(await valueOf('statement_plants_count'));
    await until(async () => (await managed('/readyz'))?.status === 200);
    const lines = log.flatMap(({ mock }) => mock.calls.flat().map(String)).filter((line) => line.includes('ready'));
    expect(lines).toEqual([
      expect.stringMatching(/^The service is not ready: .*SQLSTATE 55P03/),
      'The service is ready again',
    ]);
    jest.restoreAllMocks();
  });

  it.each(['reset', 'freeze'] as const)(
    'should tell that the database is away (%s), be live nevertheless, and recover',
    async (breakDown) => {
      store.proxy[breakDown]();
      await until(async () => (await managed('/readyz'))?.status === 503);
      const reason = /^the database (cannot be reached|did not answer within 2000 ms)$/;
      const { status, body = '{}' } = (await managed('/readyz')) ?? {};
      expect(status).toBe(503);
      expect(JSON.parse(body)).toEqual({ status: 'unavailable', reason: expect.stringMatching(reason) });
      expect((await managed('/livez'))?.status).toBe(200);
      expect(await valueOf('ready')).toBe(0);
      store.proxy.restore();
      await until(async () => (await managed('/readyz'))?.status === 200);
      expect(await valueOf('ready')).toBe(1);
      await until(async () => (await store.create(breakDown.length + 100)).status === 200);
    },
  );
});
