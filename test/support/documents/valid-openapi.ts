import { expect } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const rules = {
  'no-unresolved-refs': 'error',
  'operation-operationId-unique': 'error',
  'security-defined': 'error',
} as const;

/** Expects what OpenAPI asks of a document: its shape, references that lead somewhere, and names that are unique and defined. */
export async function expectValidOpenApi(document: OpenAPIObject): Promise<void> {
  const config = await createConfig({ extends: ['spec'], rules });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
}
