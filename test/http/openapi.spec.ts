import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, RequestBodyObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { createPlantOf, examplesOf, generateOpenApi } from '../support/documents/openapi.js';
import { expectRefusal } from '../support/http/refusal.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

const get = (store: Store, path: string, header = ''): Promise<RawResponse> =>
  store.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`);

describe('The OpenAPI document', () => {
  let document: OpenAPIObject;

  beforeAll(async () => {
    document = await generateOpenApi();
  });

  // The name is what a failure says.
  it('should be openapi.json: if it is not, run "npm run build && node dist/main.js openapi >openapi.json"', async () => {
    const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
    expect(committed).toBe(`${JSON.stringify(document, undefined, 2)}\n`);
  });

  it('should have the operation and the schemas of the contract, and no others', () => {
    expect(document.info).toMatchObject({ version: '1.0.0', license: { name: 'MIT' } });
    expect(Object.entries(document.paths).map(([path, item]) => [path, ...Object.keys(item)])).toEqual([
      ['/plants', 'post'],
    ]);
    const { requestBody, responses, security } = createPlantOf(document);
    expect(security).toEqual([{ bearerAuth: [] }]);
    expect(document.components?.securitySchemes?.bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
    const bodies = { NewPlant: requestBody, Plant: responses['200'], Error: responses['400'] };
    expect(Object.keys(responses)).toEqual(['200', '400']);
    for (const [name, body] of Object.entries(bodies))
      expect(body).toHaveProperty(['content', 'application/json', 'schema', '$ref'], `#/components/schemas/${name}`);

    const schemas = Object.entries(document.components?.schemas ?? {}) as [string, SchemaObject][];
    const fields = schemas.map(([name, { properties = {}, required = [] }]): [string, string[]] => [
      name,
      Object.entries(properties as Record<string, SchemaObject>).map(([field, { type, format }]) =>
        [field, type, format ?? '', required.includes(field) ? 'required' : ''].join(' ').trimEnd(),
      ),
    ]);
    expect(Object.fromEntries(fields)).toEqual({
      NewPlant: ['id integer int64 required', 'name string  required', 'tag string'],
      Plant: ['name string  required', 'tag string'],
      Error: ['error integer int32 required', 'message string  required'],
    });
  });

  it('should allow every text that can be stored, in validators with and without the Unicode flag', () => {
    const { properties } = document.components?.schemas?.NewPlant as SchemaObject;
    const { name, tag } = properties as Record<'name' | 'tag', SchemaObject>;
    expect(tag.pattern).toBe(name.pattern);
    const stored = ['', 'Rose', 'two\nlines\n', '\u2028', '\t', '🌱', 'a🌱b', '\uFFFF', '\uE000', 'é'.normalize('NFD')];
    const refused = ['\0', 'a\0', '\uD83C', '\uDF31', 'a\uD83C', '\uD83Cb', '🌱\uDF31', '\uDF31\uD83C', 'a\n\uD83C'];
    for (const flags of ['', 'u', 'v']) {
      const pattern = new RegExp(name.pattern ?? '', flags);
      expect(stored.filter((text) => !pattern.test(text))).toEqual([]);
      expect(refused.filter((text) => pattern.test(text))).toEqual([]);
      expect(pattern.test('🌱'.repeat(2 ** 18))).toBe(true);
    }
  });
});

describe('GET /openapi.json and /docs', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore();
  });
  afterAll(() => store.stop());

  it('should serve the generated document without a credential, and answer its examples as it says', async () => {
    const response = await get(store, '/openapi.json');
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    const document = JSON.parse(response.body) as OpenAPIObject;
    expect(document).toEqual(await generateOpenApi());

    const { requestBody, responses } = createPlantOf(document);
    const answers: Record<string, unknown> = {};
    for (const [name, plant] of Object.entries(examplesOf(requestBody as RequestBodyObject)))
      answers[name] = JSON.parse((await store.post(JSON.stringify(plant))).body);
    expect(answers).toEqual(examplesOf(responses['200']));
    expect(Object.keys(answers).length).toBeGreaterThan(1);
  });

  it.each(['/docs', '/docs/'])('should serve a page at %s all of whose parts can be had', async (page) => {
    const { status, headers, body } = await get(store, page);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/html/),
      'content-security-policy': expect.stringMatching(/^default-src 'self';.* frame-ancestors 'none'$/),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
    });
    const parts = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part = '']) => part);
    expect(parts.length).toBeGreaterThanOrEqual(4);
    for (const part of parts) {
      const { pathname } = new URL(part, `http://localhost${page}`);
      expect({ pathname, status: (await get(store, pathname)).status }).toEqual({ pathname, status: 200 });
    }
  });

  const expectUnknown = async (other: Store, paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      expectRefusal(await get(other, path), 40100, 'contract');
      expectRefusal(await get(other, path, `Authorization: Bearer ${TOKEN}\r\n`), 40400, 'contract');
    }
  };

  it('should answer paths that begin like them like any other path', async () => {
    await expectUnknown(store, ['/DOCS', '/docs/nothing', '/docs/..%2f..%2fpackage.json', '/docs-json', '/']);
  });

  it('should be like any other path if the documentation is off', async () => {
    const other = await startStore({ DOCS: 'off' });
    await expectUnknown(other, ['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json']);
    await other.stop();
  });

  it('should name the base path in the server, and give each status a response if statuses are semantic', async () => {
    const document = await generateOpenApi({ BASE_PATH: '/api/v1', ERROR_STATUS: 'semantic' });
    expect(document.servers).toEqual([{ url: '/api/v1', description: expect.any(String) }]);
    const { responses } = createPlantOf(document);
    const numbers = Object.keys(ERROR_CATALOGUE);
    const statuses = new Set(['200', ...numbers.map((number) => number.slice(0, 3))]);
    expect(Object.keys(responses).sort()).toEqual([...statuses].sort());
    for (const number of numbers) {
      const response = responses[number.slice(0, 3)] as ResponseObject;
      expect(response.description).toContain(number);
      expect(response.content).toHaveProperty(['application/json', 'schema', '$ref'], '#/components/schemas/Error');
    }
    const headersOf = (status: string): string[] =>
      Object.keys((responses[status] as Required<ResponseObject>).headers).filter((name) => name !== 'X-Request-Id');
    expect(['401', '405', '503'].map(headersOf)).toEqual([['WWW-Authenticate'], ['Allow'], ['Retry-After']]);
  });
});
