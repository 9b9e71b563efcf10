import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestHead, type RawResponse } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';

const ORIGIN = 'https://garden.example';

describe('CORS_ORIGINS', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore({ CORS_ORIGINS: `https://other.example, ${ORIGIN}` });
  });
  afterAll(() => store.stop());

  const preflight = (Origin: string): Promise<RawResponse> => {
    const asked = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'idempotency-key' };
    return store.raw(requestHead('OPTIONS /plants HTTP/1.1', { Origin, Authorization: undefined, ...asked }));
  };

  it('should answer a preflight of such an origin without a credential, and allow no other origin', async () => {
    const headers = { 'access-control-allow-origin': ORIGIN, 'access-control-allow-headers': 'idempotency-key' };
    expect(await preflight(ORIGIN)).toMatchObject({ status: 204, headers });
    expect((await preflight('https://stranger.example')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('should let its pages read each answer, also what a refusal says in its headers', async () => {
    const exposed = 'Retry-After,WWW-Authenticate,Allow,X-Request-Id';
    const headers = { 'access-control-allow-origin': ORIGIN, 'access-control-expose-headers': exposed };
    const body = '{"id":1,"name":"Rose"}';
    expect(await store.post(body, { Origin: ORIGIN })).toMatchObject({ status: 200, headers });
    expect(await store.post(body, { Origin: ORIGIN, Authorization: undefined })).toMatchObject({
      status: 400,
      headers,
    });
  });
});
