import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, ParameterObject, RequestBodyObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { CONTRACT } from '../support/documents/contract.js';
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

  it('should carry the version and the license of the contract, and require the bearer credential', () => {
    expect(document.info).toEqual({
      title: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
      version: CONTRACT.version,
      license: { name: CONTRACT.license, url: expect.stringMatching(/^https:/) },
    });
    const schemes = document.components?.securitySchemes ?? {};
    expect(schemes).toEqual({ bearerAuth: expect.objectContaining(CONTRACT.security) });
    expect([document.security, createPlantOf(document).security]).toEqual([[{ bearerAuth: [] }], [{ bearerAuth: [] }]]);
  });

  it('should offer the operations of the contract as it describes them, and no others', () => {
    const offered = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    expect(offered).toEqual(CONTRACT.operations.map(({ method, path }) => `${method} ${path}`));
    for (const facts of CONTRACT.operations) {
      const operation = document.paths[facts.path]?.[facts.method];
      expect(operation?.description).toBe(facts.description);
      expect(parameters(operation?.parameters, 'path')).toEqual(facts.pathParameters);
      expect(parameters(operation?.parameters, 'query')).toEqual(facts.queryParameters);
      const { required, content } = operation?.requestBody as RequestBodyObject;
      expect({ required, content: schemaNames(content) }).toEqual(facts.body);
      const responses = Object.entries(operation?.responses ?? {}).map(([status, response]) => {
        const { description, content } = response as ResponseObject;
        return [status, { description, content: schemaNames(content) }];
      });
      expect(Object.fromEntries(responses)).toEqual(facts.responses);
    }
  });

  it('should have the schemas of the contract field by field, and no others', () => {
    const schemas = Object.entries(document.components?.schemas ?? {}) as [string, SchemaObject][];
    expect(schemas.map(([name]) => name).sort()).toEqual(Object.keys(CONTRACT.schemas).sort());
    for (const [name, { type, properties = {}, required = [], ...rest }] of schemas) {
      // Other fields are not forbidden, and nothing else narrows the object.
      expect([type, rest]).toEqual(['object', {}]);
      const fields = Object.entries(properties as Record<string, SchemaObject>).map(([field, schema]) => {
        const { type: ofField, format, description: meaning = '' } = schema;
        return [field, { type: ofField, ...(format && { format }), required: required.includes(field), meaning }];
      });
      const facts = Object.entries(CONTRACT.schemas[name as keyof typeof CONTRACT.schemas]);
      const expected = facts.map(([field, { meaning, ...fact }]: [string, { meaning: string }]) => {
        return [field, { ...fact, meaning: expect.stringMatching(new RegExp(`^${meaning}\\b`)) }];
      });
      // In the order of the contract's tables, too.
      expect(fields).toEqual(expected);
    }
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

  const UNKNOWN = ['/DOCS', '/docs/nothing', '/docs/..%2f..%2fpackage.json', '/docs-json', '/openapi.json/', '/'];

  it.each([
    ['paths that begin like them', {}, UNKNOWN],
    ['both if the documentation is off', { DOCS: 'off' }, ['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json']],
  ])('should answer %s like any other path', async (_, variables, paths) => {
    const other = await startStore(variables);
    for (const path of paths) {
      expectRefusal(await get(other, path), 40100, 'contract');
      expectRefusal(await get(other, path, `Authorization: Bearer ${TOKEN}\r\n`), 40400, 'contract');
    }
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

function parameters(all: unknown[] = [], place: 'path' | 'query'): string[] {
  return (all as ParameterObject[]).filter((parameter) => parameter.in === place).map(({ name }) => name);
}

function schemaNames(content: ResponseObject['content'] = {}): Record<string, string | undefined> {
  const names = Object.entries(content).map(([type, { schema }]) => {
    const reference = schema && '$ref' in schema ? schema.$ref : undefined;
    return [type, reference?.replace('#/components/schemas/', '')];
  });
  return Object.fromEntries(names) as Record<string, string | undefined>;
}
