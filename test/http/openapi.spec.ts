import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, RequestBodyObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { createPlantOf, generateOpenApi } from '../support/documents/documents.js';
import { startStore, type Store } from '../support/service/store.js';

describe('The OpenAPI document', () => {
  let document: OpenAPIObject;

  beforeAll(async () => {
    document = await generateOpenApi();
  });

  // The name is what a failure says.
  it('should be openapi.json: if not, run "npm run build && node dist/cli.js openapi >openapi.json"', async () => {
    const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
    expect(committed).toBe(`${JSON.stringify(document, undefined, 2)}\n`);
  });

  it('should have the operation and the schemas of the contract', () => {
    expect(document.info).toMatchObject({ version: '1.0.0', license: { name: 'MIT' } });
    expect(document.paths['/plants']).toEqual({ post: expect.anything() });
    const { requestBody, responses, security } = createPlantOf(document);
    expect(security).toEqual([{ bearerAuth: [] }]);
    expect(document.components?.securitySchemes?.bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
    expect(Object.keys(responses)).toEqual(['200', '400']);
    const bodies = { NewPlant: requestBody, Plant: responses['200'], Error: responses['400'] };
    for (const [name, body] of Object.entries(bodies))
      expect(body).toHaveProperty(['content', 'application/json', 'schema', '$ref'], `#/components/schemas/${name}`);

    const text = { type: 'string' };
    const plant = { name: text, tag: text };
    const error = { error: { type: 'integer', format: 'int32' }, message: text };
    expect(document.components?.schemas).toMatchObject({
      NewPlant: { required: ['id', 'name'], properties: { id: { type: 'integer', format: 'int64' }, ...plant } },
      Plant: { required: ['name'], properties: plant },
      Error: { required: ['error', 'message'], properties: error },
    });
  });

  it('should allow every text that can be stored, in validators with and without the Unicode flag', () => {
    const { properties = {} } = document.components?.schemas?.NewPlant as SchemaObject;
    const { name, tag } = properties as Record<string, SchemaObject>;
    expect(tag?.pattern).toBe(name?.pattern);
    for (const flags of ['', 'u', 'v']) {
      const pattern = new RegExp(name?.pattern ?? '', flags);
      for (const stored of ['', 'two\nlines\n', '\u2028', 'a🌱b']) expect(stored).toMatch(pattern);
      for (const refused of ['\0', 'a\n\0']) expect(refused).not.toMatch(pattern);
    }
  });

  it('should name the base path in the server, and give each status a response if statuses are semantic', async () => {
    const semantic = await generateOpenApi({ BASE_PATH: '/api/v1', ERROR_STATUS: 'semantic' });
    expect(semantic.servers).toEqual([{ url: './api/v1', description: expect.any(String) }]);
    const responses = createPlantOf(semantic).responses as Record<string, Required<ResponseObject>>;
    for (const number of Object.keys(ERROR_CATALOGUE))
      expect(responses[number.slice(0, 3)]?.description).toContain(number);
    expect(responses['503']?.headers).toHaveProperty('Retry-After');
  });
});

/** The named examples of a request body or a response. */
function examplesOf<Value>(part: unknown): Record<string, Value> {
  const { content } = part as ResponseObject;
  const examples = (content?.['application/json']?.examples ?? {}) as Record<string, { value: Value }>;
  return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
}

describe('GET /openapi.json and /docs', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore();
  });
  afterAll(() => store.stop());

  const get = (path: string, { port } = store): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);

  it('should serve the generated document without a credential, and answer its examples as it says', async () => {
    const document = (await (await get('/openapi.json')).json()) as OpenAPIObject;
    expect(document).toEqual(await generateOpenApi());
    const { requestBody, responses } = createPlantOf(document);
    const answers: Record<string, unknown> = {};
    for (const [name, plant] of Object.entries(examplesOf(requestBody as RequestBodyObject)))
      answers[name] = JSON.parse((await store.post(JSON.stringify(plant))).body);
    expect(answers).toEqual(examplesOf(responses['200']));
    expect(Object.keys(answers).length).toBeGreaterThan(1);
  });

  it('should serve a page all of whose parts can be had', async () => {
    const page = await get('/docs');
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': expect.stringMatching(/^text\/html/),
      'content-security-policy': expect.stringMatching(/^default-src 'self';.* frame-ancestors 'none'$/),
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^\S+$/),
    });
    const parts = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part = '']) => part);
    expect(parts.length).toBeGreaterThanOrEqual(4);
    for (const part of parts) expect([part, (await get(new URL(part, page.url).pathname)).status]).toEqual([part, 200]);
  });

  it('should be like any other path if the documentation is off', async () => {
    const other = await startStore({ DOCS: 'off' });
    for (const path of ['/docs', '/openapi.json'])
      expect(await (await get(path, other)).json()).toMatchObject({ error: 40400 });
    await other.stop();
  });
});
