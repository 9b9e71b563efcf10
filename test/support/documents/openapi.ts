import { expect } from '@jest/globals';
import type { OpenAPIObject, OperationObject, ResponseObject } from '@nestjs/swagger';
import { createService } from '../../../src/service/bootstrap.js';
import { loadEnvironment, type ServiceEnvironment } from '../../../src/service/environment.js';
import { createOpenApiDocument } from '../../../src/service/http/swagger-ui.js';

/** The document as the code generates it, without a running store. */
export async function generateOpenApi(variables: Record<string, string> = {}): Promise<OpenAPIObject> {
  const environment = loadEnvironment({
    LOG_LEVEL: 'fatal',
    DATABASE_URL: 'postgresql://localhost/plants',
    ...variables,
  });
  const { BASE_PATH: basePath, ERROR_STATUS: errorStatus } = environment;
  const app = await createService(Object.assign(environment, { DOCS: false }) as ServiceEnvironment);
  return JSON.parse(
    JSON.stringify(createOpenApiDocument(app, { BASE_PATH: basePath, ERROR_STATUS: errorStatus })),
  ) as OpenAPIObject;
}

/** The operation of a store that the document describes. */
export function createPlantOf(document: OpenAPIObject, path = '/plants'): OperationObject {
  const operation = document.paths[path]?.post;
  if (!operation) throw new Error(`The document has no POST ${path}.`);
  return operation;
}

/** The named examples of a request body or a response. */
export function examplesOf<Value>(part: unknown): Record<string, Value> {
  const { content } = part as ResponseObject;
  const examples = (content?.['application/json']?.examples ?? {}) as Record<string, { value: Value }>;
  return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
}

/** Expects what OpenAPI asks of a document: its shape, references that lead somewhere, and names that are unique and defined. */
export async function expectValidOpenApi(document: OpenAPIObject): Promise<void> {
  // Not on top: most suites that make a document do not lint it.
  const { createConfig, lintFromString } = await import('@redocly/openapi-core');
  const rules = { 'no-unresolved-refs': 'error', 'operation-operationId-unique': 'error', 'security-defined': 'error' };
  const config = await createConfig({ extends: ['spec'], rules } as Parameters<typeof createConfig>[0]);
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
}
