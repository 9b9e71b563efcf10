// Writes the types of the client from openapi.json. A .ts file, because tsc does not copy a .d.ts into dist/.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTypescript, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';

const DOCUMENT = new URL('../openapi.json', import.meta.url);
const TYPES = new URL('../src/client/generated/openapi.ts', import.meta.url);

const types = await openapiTypescript(DOCUMENT, {
  // A number would round the ids.
  transform: ({ format }) =>
    format === 'int64' ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword) : undefined,
});

// Types say nothing at run time, when the client has to know which fields there are.
const { NewPlant } = JSON.parse(readFileSync(DOCUMENT, 'utf8')).components.schemas;
const fields = Object.keys(NewPlant.properties).map((name) => [name, NewPlant.required.includes(name)]);
const constant = `
/** The fields of a NewPlant, and whether each is required. */
export const NEW_PLANT_FIELDS = ${JSON.stringify(Object.fromEntries(fields))} as const;
`;

// Comments as the reference and editors show them: a sentence, not the tags of the document.
const comments = (text) => text.replace(/^ *\* (?:@example .*|Format: int64)\n/gm, '').replaceAll('@description ', '');

mkdirSync(new URL('.', TYPES), { recursive: true });
writeFileSync(TYPES, COMMENT_HEADER + comments(astToString(types)) + constant);
