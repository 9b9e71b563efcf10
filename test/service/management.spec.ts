import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { requestHead } from '../support/http/request.js';
import { ProxiedStore } from '../support/service/store.js';
import { until } from '../support/until.js';

const OK = { status: 200, body: '{"status":"ok"}' };

describe('The management listener', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    // Less than a check may take, so that the check tells what it found.
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: '1200' });
  });
  afterEach(() => store.stop());

  async function get(port: number, path: string): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open(port);
    connection.send(requestHead(`GET ${path} HTTP/1.1`, { Authorization: undefined }));
    return await connection.response();
  }

  const managed = (path: string): Promise<RawResponse | undefined> => get(store.managementPort, path);

  it('should say without a token that the service is live and ready', async () => {
    expect(await managed('/livez')).toMatchObject(OK);
    expect(await managed('/readyz')).toMatchObject(OK);
  });

  it.each([
    [
      'resets its connections',
      () => {
        store.proxy.reset();
      },
    ],
    [
      'falls silent',
      () => {
        store.proxy.freeze();
      },
    ],
  ])('should tell that the database %s, be live nevertheless, and recover', async (_, breakDown) => {
    expect(await managed('/readyz')).toMatchObject(OK);
    breakDown();
    await until(async () => (await managed('/readyz'))?.status === 503);
    expect(await managed('/readyz')).toMatchObject({
      status: 503,
      body: '{"status":"unavailable","reason":"the database cannot be reached"}',
    });
    expect(await managed('/livez')).toMatchObject(OK);

    store.proxy.restore();
    await until(async () => (await managed('/readyz'))?.status === 200);
    await store.expectCreated(1);
  });

  it('should outlive the sessions it has used, before any plant was created', async () => {
    expect(await managed('/readyz')).toMatchObject(OK);
    await store.endSessions();
    expect(await managed('/readyz')).toMatchObject(OK);
  });

  it.each(['/livez', '/readyz', '/metrics'])('should have %s to itself', async (path) => {
    store.expectRefused(await get(store.port, path), 40100);
    using connection = await RawConnection.open(store.port);
    connection.send(requestHead(`GET ${path} HTTP/1.1`));
    store.expectRefused(await connection.response(), 40400);
  });

  it('should create no plants', async () => {
    expect(await managed('/plants')).toMatchObject({ status: 404 });
  });
});
