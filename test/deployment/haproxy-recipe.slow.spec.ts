import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { connectTo, startStore, type Store } from '../support/service/store.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';

const ORIGIN = 'https://garden.example';
const LIMIT = 5;

describeWithHaproxy('HAProxy in front of the service', () => {
  let store: Store;
  let proxy: Haproxy;
  let port: number;

  beforeAll(async () => {
    store = await startStore();
  });
  beforeEach(async () => {
    port = await freePort();
  });
  afterEach(() => proxy[Symbol.asyncDispose]());
  afterAll(() => store.stop());

  const start = async (variables: Record<string, string>): Promise<void> => {
    proxy = await Haproxy.start(port, [store, store], variables);
  };
  const create = (headers: Record<string, string> = {}): Promise<RawResponse> =>
    connectTo(port, '').post(`{"id":${randomInt(2 ** 40)},"name":"Rose","tag":"shrub"}`, headers);

  function expectLimited(response: RawResponse): void {
    expect(response).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json', 'retry-after': '10' },
    });
    expect(JSON.parse(response.body)).toEqual({
      error: 50301,
      message: expect.stringContaining('Nothing was written'),
    });
  }

  it('should hand a create on as it is, and its answer too', async () => {
    await start({ TOKEN_LIMIT: '100', ADDRESS_LIMIT: '100', ORIGINS: ORIGIN });
    const response = await create({ 'X-Request-Id': 'of-the-client' });
    expect(response).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'x-request-id': 'of-the-client' },
      body: '{"name":"Rose","tag":"shrub"}',
    });
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('should limit the requests with a token, and let another token pass', async () => {
    await start({ TOKEN_LIMIT: String(LIMIT) });
    for (let sent = 0; sent < LIMIT; sent++) expect(await create()).toMatchObject({ status: 200 });
    expectLimited(await create());
    for (const Authorization of [`bearer ${TOKEN}`, `Bearer  ${TOKEN}`]) expectLimited(await create({ Authorization }));
    const { token } = await issueToken(store.database);
    expect(await create(bearer(token))).toMatchObject({ status: 200 });
    expectLimited(await create());
  });

  it('should limit the requests of an address, with whatever token', async () => {
    await start({ ADDRESS_LIMIT: String(LIMIT) });
    for (let sent = 0; sent < LIMIT; sent++)
      expect((await create(bearer(`a-wrong-token-of-many-${sent}`))).body).toContain('40101');
    expectLimited(await create());
  });

  it('should answer preflights of the origins that it knows, and let them read each answer', async () => {
    await start({ ORIGINS: `https://other.example ${ORIGIN}`, TOKEN_LIMIT: '1' });
    const preflight = (Origin: string): Promise<RawResponse> => {
      const headers = { Origin, Authorization: undefined, 'Access-Control-Request-Method': 'POST' };
      return connectTo(port, '').raw(requestHead('OPTIONS /plants HTTP/1.1', headers));
    };
    expect(await preflight(ORIGIN)).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
      },
    });
    const stranger = await preflight('https://stranger.example');
    expect(stranger.headers).not.toHaveProperty('access-control-allow-origin');
    expect(stranger.status).toBe(400);

    const readable = {
      vary: expect.stringContaining('Origin') as unknown,
      'access-control-allow-origin': ORIGIN,
      'access-control-expose-headers': 'Allow, Retry-After, WWW-Authenticate, X-Request-Id',
    };
    expect(await create({ Origin: ORIGIN })).toMatchObject({ status: 200, headers: readable });
    const limited = await create({ Origin: ORIGIN });
    expectLimited(limited);
    expect(limited.headers).toMatchObject(readable);
    expect((await create(bearer('a-wrong-token-012345'))).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('should terminate TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-haproxy-'));
    const [key, certificate, both] = ['key.pem', 'certificate.pem', 'both.pem'].map((name) => join(folder, name));
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const files = ['-keyout', String(key), '-out', String(certificate)];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, '-days', '1', ...names], {
      stdio: 'ignore',
    });
    const ca = await readFile(String(certificate), 'utf8');
    await writeFile(String(both), ca + (await readFile(String(key), 'utf8')));
    await start({ CERTIFICATE: String(both) });
    await rm(folder, { recursive: true });
    const answer = await new Promise<[number | undefined, string]>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
      request(`https://127.0.0.1:${port}/plants`, { method: 'POST', ca, headers, agent: false })
        .on(
          'response',
          (response) =>
            void text(response).then((body) => {
              resolve([response.statusCode, body]);
            }, reject),
        )
        .on('error', reject)
        .end('{"id":-1,"name":"Rose"}');
    });
    expect(answer).toEqual([200, '{"name":"Rose"}']);
  });
});
