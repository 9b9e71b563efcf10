import type { OpenAPIObject, OperationObject, ResponseObject } from '@nestjs/swagger';
import type { AppOptions } from '../../../src/app/app.module.js';
import { loadEnvironment } from '../../../src/app/config.js';
import { createApp } from '../../../src/app/create-app.js';
import { createOpenApiDocument } from '../../../src/service/http/swagger-ui.js';

/** The document as the code generates it, without a running store. */
export async function generateOpenApi(variables: Record<string, string> = {}): Promise<OpenAPIObject> {
  const environment = loadEnvironment({
    LOG_LEVEL: 'fatal',
    DATABASE_URL: 'postgresql://localhost/plants',
    ...variables,
  });
  const app = await createApp(Object.assign(environment, { docs: false }) as AppOptions);
  return JSON.parse(JSON.stringify(createOpenApiDocument(app, environment))) as OpenAPIObject;
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
