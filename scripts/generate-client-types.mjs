// Writes the types of the client from openapi.json. A .ts file, because tsc does not copy a .d.ts into dist/.
import { mkdirSync, writeFileSync } from 'node:fs';
import openapiTypescript, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';

const DOCUMENT = new URL('../openapi.json', import.meta.url);
const TYPES = new URL('../src/client/generated/openapi.ts', import.meta.url);

const types = await openapiTypescript(DOCUMENT, {
  // A number would round the ids.
  transform: ({ format }) =>
    format === 'int64' ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword) : undefined,
});
mkdirSync(new URL('.', TYPES), { recursive: true });
writeFileSync(TYPES, COMMENT_HEADER + astToString(types));
