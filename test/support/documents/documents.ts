import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { outcomeOfCommandLine } from '../service/process.js';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The pages that people write, and those that programs do. */
export const PAGES = ['', 'docs', 'docs/adr', 'bench', 'deploy/citus'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

export const withoutCode = (page: string): string => page.replace(/^ *```.*?^ *```/gms, '');

/** All links of a page that lead to a file or a heading here: each as it is, its path and its anchor. */
export const linksIn = (page: string): Iterable<string[]> =>
  withoutCode(page).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g);

/** All blocks of code in this language of the README and of `docs/`, without the indentation of a list. */
export function blocksIn(language: string): { page: string; code: string }[] {
  return PAGES.filter((page) => /^(?:README|docs\/[\w-]+)\.md$/.test(page)).flatMap((page) =>
    [...read(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)]
      .filter(([, , of]) => of === language)
      .map(([, indent = '', , code = '']) => ({ page, code: code.replaceAll(`\n${indent}`, '\n') })),
  );
}

/** The OpenAPI document as the code generates it, without a running store. */
export async function generateOpenApi(variables: Record<string, string> = {}): Promise<OpenAPIObject> {
  return JSON.parse((await outcomeOfCommandLine('openapi', variables)).stdout) as OpenAPIObject;
}

/** The operation of a store that the document describes. */
export function createPlantOf(document: OpenAPIObject, path = '/plants'): OperationObject {
  const operation = document.paths[path]?.post;
  if (!operation) throw new Error(`The document has no POST ${path}.`);
  return operation;
}
