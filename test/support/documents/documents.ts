import type { OpenAPIObject, OperationObject, ResponseObject } from '@nestjs/swagger';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp } from '../../../src/app.js';
import { assertNoFaults, readEnvironment } from '../../../src/config/environment.js';
import { createOpenApiDocument } from '../../../src/server/openapi.js';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const pagesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** The pages that people write, and those that programs do. */
export const PAGES = [...['', 'docs', 'docs/adr'].flatMap(pagesIn), ...['bench/README.md', 'deploy/citus/README.md']];

export const read = (path: string): string => readFileSync(ROOT + path, 'utf8');

/** All blocks of code of the README and of `docs/` in this language, without the indentation of a list that they are in. */
export function blocksIn(language: string): { page: string; code: string }[] {
  return PAGES.filter((page) => /^(?:README|docs\/[\w-]+)\.md$/.test(page)).flatMap((page) =>
    [...read(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)]
      .filter(([, , of]) => of === language)
      .map(([, indent = '', , code = '']) => ({ page, code: code.replaceAll(`\n${indent}`, '\n') })),
  );
}

/** The OpenAPI document as the code generates it, without a running store. */
export async function generateOpenApi(variables: Record<string, string> = {}): Promise<OpenAPIObject> {
  const database = { DATABASE_URL: 'postgresql://localhost/plants' };
  const environment = assertNoFaults(readEnvironment({ LOG_LEVEL: 'fatal', ...database, ...variables }));
  const app = await createApp(Object.assign(environment, { DOCS: false }));
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
