import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { requestHead } from '../support/http/request.js';
import { ProxiedStore } from '../support/service/proxied-store.js';
import { startStoreOn } from '../support/service/store.js';
import { until } from '../support/until.js';

/** None may be part of another word of the answer. */
const SECRETS = {
  tokens: ['first-static-token-1234567', 'zweites-static-token-1234567'],
  owner: 'xylophone-of-the-owner',
  tls: 'yttrium-of-the-key',
  keys: 'quartz-of-the-issuer',
};
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

  it('should show the configuration with the source of each variable, and no secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-info-'));
    const file = join(folder, 'password');
    const { password } = new URL(store.database.url);
    await writeFile(file, `${password}\n`);
    const url = new URL(store.database.url);
    url.password = '';
    const ownerUrl = `postgresql://owner:${SECRETS.owner}@db.example/plants?sslpassword=${SECRETS.tls}`;
    const informed = await startStoreOn(store.database, {
      DATABASE_URL: url.href,
      DATABASE_PASSWORD_FILE: file,
      MIGRATION_DATABASE_URL: ownerUrl,
      ACCESS_TOKENS: SECRETS.tokens.join(' '),
      JWT_ISSUER: 'https://issuer.example',
      JWT_AUDIENCE: 'plants',
      JWT_JWKS_URL: `https://issuer.example/keys?key=${SECRETS.keys}`,
      LOG_LEVEL: 'fatal',
      BODY_LIMIT: '2048',
    });
    try {
      const response = await get(informed.managementPort, '/info');
      expect(response?.status).toBe(200);
      const { configuration } = JSON.parse(response?.body ?? '') as { configuration: unknown };
      expect(configuration).toMatchObject({
        BODY_LIMIT: { value: '2048', source: 'environment' },
        STORAGE_TIMEOUT: { value: '5000', source: 'default' },
        DATABASE_URL: { value: `${url.pathname.slice(1)} at ${url.host} as ${url.username}`, source: 'environment' },
        DATABASE_PASSWORD: { value: '(set)', source: `DATABASE_PASSWORD_FILE (${file})` },
        MIGRATION_DATABASE_URL: { value: 'plants at db.example:5432 as owner', source: 'environment' },
        ACCESS_TOKENS: { value: '(set)', source: 'environment' },
        JWT_JWKS_URL: { value: 'https://issuer.example/keys?…', source: 'environment' },
      });
      for (const secret of [password, SECRETS.owner, SECRETS.tls, SECRETS.keys, ...SECRETS.tokens]) {
        expect(secret.length).toBeGreaterThan(6);
        expect(response?.body).not.toContain(secret);
        expect(response?.body).not.toContain(secret.slice(0, 6));
      }
    } finally {
      await informed.stop();
      await rm(folder, { recursive: true });
    }
  });

  it.each(['/livez', '/readyz', '/metrics', '/info'])('should have %s to itself', async (path) => {
    store.expectRefused(await get(store.port, path), 40100);
    using connection = await RawConnection.open(store.port);
    connection.send(requestHead(`GET ${path} HTTP/1.1`));
    store.expectRefused(await connection.response(), 40400);
  });

  it('should create no plants', async () => {
    expect(await managed('/plants')).toMatchObject({ status: 404 });
  });
});
