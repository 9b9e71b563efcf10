import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { connectTo, startStore, type Store } from '../support/service/store.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

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

  /** An answer of HAProxy itself, in the form of the service. */
  function expectOwn(response: RawResponse, error: number, headers: Record<string, unknown> = {}): void {
    expect(response).toMatchObject({ status: 400, headers: { 'content-type': 'application/json', ...headers } });
    expect(JSON.parse(response.body)).toEqual({ error, message: expect.any(String) });
  }
  const expectLimited = (response: RawResponse, headers = {}): void => {
    expectOwn(response, 50301, { 'retry-after': '10', ...headers });
    expect(response.body).toContain('Nothing was written');
  };

  it('should hand a create on as it is, limit the requests with a token, and let another token pass', async () => {
    await start({ TOKEN_LIMIT: String(LIMIT), ADDRESS_LIMIT: '100', ORIGINS: ORIGIN });
    for (let sent = 0; sent < LIMIT; sent++) {
      const response = await create({ 'X-Request-Id': 'of-the-client' });
      expect(response).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/json', 'x-request-id': 'of-the-client' },
        body: '{"name":"Rose","tag":"shrub"}',
      });
      expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    }
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
    expectLimited(await create({ Origin: ORIGIN }), readable);
    expect((await create(bearer('a-wrong-token-012345'))).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('should answer in the form of the service what it cannot hand on', async () => {
    const nobody = await freePort();
    proxy = await Haproxy.start(port, [{ port: nobody, managementPort: nobody }]);
    await until(() => proxy.output.includes('no server available'));
    const response = await create();
    expectOwn(response, 50300, { 'retry-after': '1' });
    expect(response.body).toContain('Nothing was written');
  });

  it('should terminate TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-haproxy-'));
    const inShell = async (script: string): Promise<string> =>
      (await promisify(execFile)('sh', ['-euc', script], { cwd: folder })).stdout;
    const subject = '-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
    await inShell(
      `openssl req -x509 -newkey rsa:2048 -nodes -keyout both.pem -out own.pem -days 1 ${subject} && cat own.pem >>both.pem`,
    );
    await start({ CERTIFICATE: join(folder, 'both.pem') });
    const headers = `-H 'Authorization: Bearer ${TOKEN}' -H 'Content-Type: application/json'`;
    const curl = `curl -s --cacert own.pem ${headers} -d '{"id":-1,"name":"Rose"}' https://127.0.0.1:${port}/plants`;
    expect(await inShell(curl)).toBe('{"name":"Rose"}');
    await rm(folder, { recursive: true });
  });
});
