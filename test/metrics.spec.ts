import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { packageVersion } from '../src/util/package-files.cjs';
import { freePort } from './support/free-port.js';
import { PlantStoreProcess } from './support/process.js';
import { RawConnection, type RawResponse } from './support/raw-connection.js';
import { requestHead } from './support/request.js';
import { startStore, type Store } from './support/store.js';
import { TableLock } from './support/table-lock.js';

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

  it('should be a page that Prometheus can read', async () => {
    const page = await scrape();
    expect(page).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    });
    const lines = page?.body.split('\n') ?? [];
    const sample = /^[a-z0-9_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$/;
    expect(lines.filter((line) => !/^(# (HELP|TYPE) .+)?$/.test(line) && !sample.test(line))).toEqual([]);
    expect(page?.body.endsWith('\n')).toBe(true);
    const types = lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2]);
    expect(new Set(types).size).toBe(types.length);
  });

  it('should have what the store does, what the process takes, and the version', async () => {
    const { body = '' } = (await scrape()) ?? {};
    for (const line of [
      '# TYPE plant_store_plants_created_total counter',
      '# TYPE plant_store_statements_total counter',
      '# TYPE plant_store_creates_waiting gauge',
      '# TYPE plant_store_creates_in_flight gauge',
      '# TYPE process_cpu_seconds_total counter',
      '# TYPE nodejs_eventloop_lag_p99_seconds gauge',
      '# TYPE nodejs_gc_duration_seconds histogram',
      'plant_store_creates_waiting 0',
      'plant_store_creates_in_flight 0',
      `plant_store_build_info{version="${packageVersion()}"} 1`,
    ]) {
      expect(body).toContain(`${line}\n`);
    }
  });

  it('should count what is created, and what waits for it', async () => {
    for (const id of [1, 2, 2]) await store.post(`{"id":${id},"name":"Rose"}`);
    expect((await scrape())?.body).toMatch(/^plant_store_plants_created_total 2$/m);
    expect((await scrape())?.body).toMatch(/^plant_store_plants_created_by_total\{token="static"\} 2$/m);
    expect((await scrape())?.body).toMatch(/^plant_store_statements_total [1-9]\d*$/m);

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

  it('should answer HEAD without a body, and no other method than GET', async () => {
    expect(await scrape('HEAD')).toMatchObject({ status: 200, body: '' });
    expect(await scrape('POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('should not keep the process alive once it was asked for', async () => {
    const port = await freePort();
    await using service = await PlantStoreProcess.serve(store.database.url, { MANAGEMENT_PORT: String(port) });
    expect(await scrape('GET', port)).toMatchObject({ status: 200 });
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});
