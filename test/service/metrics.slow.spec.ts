import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { makeToken } from '../../src/auth/token-format.js';
import { TableLock } from '../support/database/table-lock.js';
import { freePort } from '../support/http/free-port.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { ManagedService } from '../support/service/managed-service.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/proxied-store.js';
import { startStore, startStoreOn, type Store } from '../support/service/store.js';
import { issueToken, outcomeOf } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

/** The samples of a metric that are not 0, by the value of their only label. */
function samples(page: string, name: string): Record<string, number> {
  const found = [...page.matchAll(new RegExp(`^${name}\\{[a-z]+="([^"]*)"\\} (\\S+)$`, 'gm'))];
  const entries = found.map(([, label = '', value]): [string, number] => [label, Number(value)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== 0));
}

/** The values of all samples that this pattern matches. */
function values(page: string, pattern: string): number[] {
  return [...page.matchAll(new RegExp(`^${pattern} (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
}

describe('/metrics', () => {
  let store: Store;

  beforeEach(async () => {
    store = await startStore();
  });
  afterEach(() => store.stop());

  async function scrape(method = 'GET', port = store.managementPort): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open(port);
    connection.send(requestHead(`${method} /metrics HTTP/1.1`, { Authorization: undefined }));
    return await connection.response({ head: method === 'HEAD' });
  }

  const metrics = async (): Promise<string> => (await scrape())?.body ?? '';

  it('should be a page that Prometheus can read', async () => {
    const page = await scrape();
    expect(page).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    });
    const lines = page?.body.split('\n') ?? [];
    const sample = /^[a-z0-9_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (-?[0-9.e+-]+|\+Inf)$/;
    expect(lines.filter((line) => !/^(# (HELP|TYPE) .+)?$/.test(line) && !sample.test(line))).toEqual([]);
    expect(page?.body.endsWith('\n')).toBe(true);
    const types = lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2]);
    expect(new Set(types).size).toBe(types.length);
  });

  it('should have twelve metrics of the store, and those of the process', async () => {
    const names = [...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(names.filter((name) => name.startsWith('plant_store_'))).toHaveLength(12);
    expect(names).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds']));
  });

  it('should count what is created, and what waits for it', async () => {
    for (const id of [1, 2, 2]) await store.post(`{"id":${id},"name":"Rose"}`);
    expect((await scrape())?.body).toMatch(/^plant_store_plants_created_total 2$/m);

    await using lock = await TableLock.take(store.database);
    const answer = store.post('{"id":3,"name":"Rose"}');
    await lock.awaited();
    expect((await scrape())?.body).toMatch(/^plant_store_creates_in_flight 1$/m);
    await lock.release();
    await answer;
    const { body } = (await scrape()) ?? {};
    expect(body).toMatch(/^plant_store_plants_created_total 3$/m);
    expect(body).toMatch(/^plant_store_creates_in_flight 0$/m);
  });

  it('should keep the conventions of Prometheus', async () => {
    const page = await metrics();
    const own = page.split('\n').filter((line) => line.includes('plant_store_'));
    const { status, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: `${own.join('\n')}\n` });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && process.env.CI === undefined) return;
    expect([error, status, String(stderr)]).toEqual([undefined, 0, '']);
  });

  it('should count every answer of the public listener, by its number and its outcome', async () => {
    const before = await metrics();
    expect(before).toMatch(/^plant_store_requests_total\{error="50400"\} 0$/m);
    for (const id of [1, 2, 2]) await store.post(`{"id":${id},"name":"Rose"}`);
    await store.raw(requestHead('GET /nothing HTTP/1.1'));
    await store.raw('no HTTP at all\r\n\r\n');
    const page = await metrics();
    expect(samples(page, 'plant_store_requests_total')).toEqual({ 0: 2, 40010: 1, 40400: 1, 40901: 1 });
    expect(samples(page, 'plant_store_request_duration_seconds_count')).toEqual({ success: 2, refused: 3 });
    for (const outcome of ['success', 'refused', 'failed']) {
      const buckets = values(page, `plant_store_request_duration_seconds_bucket\\{le="[^"]+",outcome="${outcome}"\\}`);
      expect(buckets).toHaveLength(15);
      expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
      expect(buckets.slice(-1)).toEqual([outcome === 'success' ? 2 : outcome === 'refused' ? 3 : 0]);
    }
    const [seconds = 0] = values(page, 'plant_store_request_duration_seconds_sum\\{outcome="success"\\}');
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(60);
  });

  it('should answer HEAD without a body', async () => {
    expect(await scrape('HEAD')).toMatchObject({ status: 200, body: '' });
  });

  it('should not keep the process alive once it was asked for', async () => {
    const port = await freePort();
    await using service = await PlantStoreProcess.serve(store.database.url, { MANAGEMENT_PORT: String(port) });
    expect(await scrape('GET', port)).toMatchObject({ status: 200 });
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should count the requests that were refused for their token', async () => {
    const expired = await issueToken(store.database, { expires: '-1 second' });
    const counted = async (): Promise<number> => {
      const page = (await scrape('GET', store.managementPort))?.body ?? '';
      return Number(/^plant_store_wrong_tokens_total (\d+)$/m.exec(page)?.[1]);
    };
    const before = await counted();
    for (const token of [makeToken(), 'nobodys-own-token-012345', expired.token, makeToken().slice(0, -3)])
      expect(await outcomeOf(store, token)).toBe(40101);
    expect((await store.post('{}', { Authorization: ['Bearer a', 'Bearer b'] })).body).toContain('40102');
    // None of these is a wrong token.
    expect((await store.post('{}', { Authorization: undefined })).body).toContain('40100');
    expect(await outcomeOf(store, TOKEN)).toBe(200);
    expect(await counted()).toBe(before + 5);
  });

  it('should show when the first of the tokens in use ends', async () => {
    const days = [15, 13, 1];
    const [later, sooner] = await Promise.all(
      days.map((count) => issueToken(store.database, { name: `days-${count}`, expires: `${count} days` })),
    );
    const end = async (): Promise<number> => values(await metrics(), 'plant_store_token_expires_seconds')[0] ?? NaN;
    for (const token of [later, sooner]) await store.post('{"id":77,"name":"Rose"}', token?.headers);
    expect(await end()).toBeGreaterThan(13 * 86_400 - 60);
    expect(await end()).toBeLessThanOrEqual(13 * 86_400);
  });

  it('should show the pool, the statements and the queue while the table is locked', async () => {
    const small = await startStoreOn(store.database, { DATABASE_POOL_SIZE: '1', STORAGE_TIMEOUT: '60000' });
    const one = (page: string, name: string): number => values(page, `plant_store_${name}`)[0] ?? NaN;
    const read = async (): Promise<string> => (await scrape('GET', small.managementPort))?.body ?? '';
    try {
      expect(one(await read(), 'ready')).toBe(1);
      await using lock = await TableLock.take(store.database);
      const first = small.post('{"id":1,"name":"Rose"}');
      await lock.awaited();
      const others = [2, 3, 4].map((id) => small.post(`{"id":${id},"name":"Rose"}`));
      await until(async () => one(await read(), 'creates_waiting') === 3);
      let page = await read();
      expect(one(page, 'creates_in_flight')).toBe(1);
      expect(one(page, 'database_connections_in_use')).toBe(1);

      await lock.release();
      for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200);
      await until(async () => one(await read(), 'database_connections_in_use') === 0);
      page = await read();
      expect(one(page, 'database_connection_wait_seconds_count')).toBeGreaterThan(0);
      expect(one(page, 'database_connection_wait_seconds_sum')).toBeGreaterThan(0);
      expect(one(page, 'statement_plants_sum')).toBe(4);
      expect(one(page, 'statement_duration_seconds_count')).toBe(one(page, 'statement_plants_count'));
      expect(one(page, 'statement_duration_seconds_sum')).toBeGreaterThan(0);
    } finally {
      await small.stop();
    }
  });

  it('should answer while the database is away, and say that the service is not ready', async () => {
    const proxied = await ProxiedStore.start({});
    try {
      proxied.proxy.freeze();
      const start = performance.now();
      const page = await scrape('GET', proxied.managementPort);
      expect(page).toMatchObject({ status: 200, body: expect.stringMatching(/^plant_store_ready 0$/m) });
      expect(performance.now() - start).toBeLessThan(6000);
    } finally {
      await proxied.stop();
    }
  });

  it('should log that MAX_CONNECTIONS refuses a connection', async () => {
    await using service = await ManagedService.start({ MAX_CONNECTIONS: '1' });
    using first = await RawConnection.open(service.process.port);
    using second = await RawConnection.open(service.process.port);
    await second.closed();
    await service.process.printed(/A client connection was refused: 1 are open, as many as MAX_CONNECTIONS allows/);
    first.close();
  });

  it('should log a change of readiness, whether a probe or a scrape finds it', async () => {
    await using service = await ManagedService.start({});
    await using lock = await TableLock.take(service.database);
    await until(async () => (await (await service.managed('/metrics')).text()).includes('plant_store_ready 0\n'));
    await service.process.printed(/"level":"warn".*The service is not ready: .*SQLSTATE 55P03/);
    await lock.release();
    await until(async () => (await service.managed('/readyz')).status === 200);
    await service.process.printed(/The service is ready again/);
    expect(service.process.output.match(/The service is (?:not ready|ready again)/g)).toHaveLength(2);
  });
});
