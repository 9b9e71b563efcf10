import { afterEach, describe, expect, it } from '@jest/globals';
import type { HeadersObject, OpenAPIObject, ResponseObject } from '@nestjs/swagger';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

describe('GET /openapi.json and /docs', () => {
  let store: Store;

  afterEach(() => store.stop());

  const get = (path: string, header = ''): Promise<RawResponse> =>
    store.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`);
  const served = async (): Promise<OpenAPIObject> => JSON.parse((await get('/openapi.json')).body) as OpenAPIObject;

  it('should serve the generated document without a credential', async () => {
    store = await startStore();
    const response = await get('/openapi.json');
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      'cache-control': 'no-cache',
    });
    expect(JSON.parse(response.body)).toEqual(await generateOpenApi());
  });

  it('should keep the path and name the base path in the server', async () => {
    store = await startStore({ BASE_PATH: '/api/v1' });
    const plain = await generateOpenApi();
    expect(await served()).toEqual({ ...plain, servers: [{ ...plain.servers?.[0], url: '/api/v1' }] });
  });

  it('should give every status of the catalogue a response if statuses are semantic', async () => {
    store = await startStore({ ERROR_STATUS: 'semantic' });
    const { responses } = createPlantOf(await served());
    const numbers = Object.keys(ERROR_CATALOGUE);
    const statuses = new Set(['200', ...numbers.map((number) => number.slice(0, 3))]);
    expect(Object.keys(responses).sort()).toEqual([...statuses].sort());
    for (const number of numbers) {
      const response = responses[number.slice(0, 3)] as ResponseObject;
      expect(response.description).toContain(number);
      expect(response.content).toHaveProperty(['application/json', 'schema', '$ref'], '#/components/schemas/Error');
    }
    expect(headersOf(responses['401'])).toEqual(['WWW-Authenticate', 'X-Request-Id']);
    expect(headersOf(responses['405'])).toEqual(['Allow', 'X-Request-Id']);
    expect(headersOf(responses['503'])).toEqual(['Retry-After', 'X-Request-Id']);
  });

  it.each([
    ['/docs', 4],
    ['/docs/', 4],
  ])('should serve a page at %s all of whose parts can be had', async (page, least) => {
    store = await startStore();
    const { status, headers, body } = await get(page);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/html/),
      'content-security-policy': expect.stringMatching(/^default-src 'self';.* frame-ancestors 'none'$/),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
    const parts = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part = '']) => part);
    expect(parts.length).toBeGreaterThanOrEqual(least);
    for (const part of parts) {
      const { pathname } = new URL(part, `http://localhost${page}`);
      expect({ pathname, status: (await get(pathname)).status }).toEqual({ pathname, status: 200 });
    }
  });

  it.each(['/docs/index.html', '/docs?url=%', '/docs/?x/'])('should lead from %s to the page', async (path) => {
    store = await startStore();
    expect(await get(path)).toMatchObject({ status: 302, headers: { location: '/docs' } });
  });

  it('should answer both like any other path if the documentation is off', async () => {
    store = await startStore({ DOCS: 'off' });
    for (const path of ['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json']) {
      expectRefusal(await get(path), 40100, store.errorStatus);
      expectRefusal(await get(path, `Authorization: Bearer ${TOKEN}\r\n`), 40400, store.errorStatus);
    }
  });

  it('should answer paths that begin like them as unknown paths', async () => {
    store = await startStore();
    for (const path of [
      '/DOCS',
      '/docs/nothing',
      '/docs/errors',
      '/docs/..%2f..%2fpackage.json',
      '/docs-json',
      '/openapi.json/',
      '/',
    ]) {
      expectRefusal(await get(path), 40100, store.errorStatus);
      expectRefusal(await get(path, `Authorization: Bearer ${TOKEN}\r\n`), 40400, store.errorStatus);
    }
  });
});

function headersOf(response: unknown): string[] {
  return Object.keys((response as { headers: HeadersObject }).headers);
}
