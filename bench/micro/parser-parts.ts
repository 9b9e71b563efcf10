import { loadBuild } from './load-build.js';
import type { Part } from './part.js';

const SMALL = '{"id":9007199254740993,"name":"Rose","tag":"flower"}';
const LARGE = JSON.stringify({ id: 1, name: 'Rose', tag: 'flower', notes: Array.from({ length: 500 }, describeLeaf) });

/** The exact JSON parser, compared with the one of JavaScript, which rounds numbers and takes repeated keys. */
export async function parserParts(): Promise<Part[]> {
  const { parseExactJson } = await loadBuild<typeof import('../../src/http/exact-json.js')>('http/exact-json.js');
  return [
    { title: `exact JSON, ${SMALL.length} bytes`, run: () => parseExactJson(SMALL) },
    { title: `JSON.parse, ${SMALL.length} bytes`, run: () => JSON.parse(SMALL) as unknown },
    { title: `exact JSON, ${LARGE.length} bytes`, run: () => parseExactJson(LARGE) },
    { title: `JSON.parse, ${LARGE.length} bytes`, run: () => JSON.parse(LARGE) as unknown },
  ];
}

function describeLeaf(_: unknown, index: number): object {
  return { leaf: index, length: index / 7, text: `leaf "${index}" is green` };
}
