import { expect } from '@jest/globals';
import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import openapiTypeScript from 'openapi-typescript';

/** Expects what OpenAPI asks of a document: its shape, references that lead somewhere, and names that are unique and defined. */
export async function expectValidOpenApi(document: OpenAPIObject): Promise<void> {
  // It validates what it is given, references and unique operationIds included, and rejects with what is wrong.
  await openapiTypeScript(JSON.stringify(document), { silent: true });
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item) as OperationObject[]);
  const required = [document, ...operations].flatMap(({ security = [] }) => security.flatMap(Object.keys));
  expect(Object.keys(document.components?.securitySchemes ?? {})).toEqual(expect.arrayContaining(required));
}
