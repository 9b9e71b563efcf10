import { beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, ParameterObject, RequestBodyObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { CONTRACT } from '../support/documents/contract.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';

describe('OpenAPI document', () => {
  let document: OpenAPIObject;

  beforeAll(async () => {
    document = await generateOpenApi();
  });

  it('should carry the version and the license of the contract', () => {
    expect(document.openapi).toMatch(/^3\.\d+\.\d+$/);
    expect(document.info).toEqual({
      title: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
      version: CONTRACT.version,
      license: { name: CONTRACT.license, url: expect.stringMatching(/^https:/) },
    });
  });

  it('should offer the operations of the contract, and no others', () => {
    const offered = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    expect(offered).toEqual(CONTRACT.operations.map(({ method, path }) => `${method} ${path}`));
  });

  it.each(CONTRACT.operations)('should describe $method $path as the contract does', (facts) => {
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
  });

  it('should require the bearer credential for every operation', () => {
    const schemes = document.components?.securitySchemes ?? {};
    expect(schemes).toEqual({ bearerAuth: expect.objectContaining(CONTRACT.security) });
    expect(document.security).toEqual([{ bearerAuth: [] }]);
    expect(createPlantOf(document).security).toEqual([{ bearerAuth: [] }]);
  });

  it('should have the schemas of the contract, and no others', () => {
    expect(Object.keys(document.components?.schemas ?? {}).sort()).toEqual(Object.keys(CONTRACT.schemas).sort());
  });

  it.each(Object.entries(CONTRACT.schemas))('should have every field of %s as the contract has it', (name, facts) => {
    const { type, properties = {}, required = [], ...rest } = document.components?.schemas?.[name] as SchemaObject;
    expect(type).toBe('object');
    // Other fields are not forbidden, and nothing else narrows the object.
    expect(rest).toEqual({});
    const fields = Object.entries(properties as Record<string, SchemaObject>).map(
      ([field, { type, format, description = '' }]) => [
        field,
        { type, ...(format && { format }), required: required.includes(field), meaning: description },
      ],
    );
    const expected = Object.entries(facts as Record<string, { meaning: string }>).map(
      ([field, { meaning, ...fact }]) => [
        field,
        { ...fact, meaning: expect.stringMatching(new RegExp(`^${meaning}\\b`)) },
      ],
    );
    // In the order of the contract's tables, too.
    expect(fields).toEqual(expected);
  });

  it('should allow every text that can be stored, in validators with and without the Unicode flag', () => {
    const { name, tag } = (document.components?.schemas?.NewPlant as SchemaObject).properties as Record<
      'name' | 'tag',
      SchemaObject
    >;
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
