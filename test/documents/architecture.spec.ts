import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { cyclesOf, folderGraph, importGraph } from '../support/documents/import-graph.js';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));

describe('src', () => {
  it('should have no circle of files', async () => {
    expect(cyclesOf(await ownGraph())).toEqual([]);
  });

  it('should have no circle of folders', async () => {
    expect(cyclesOf(folderGraph(await ownGraph()))).toEqual([]);
  });

  it('should give a host nothing of the service itself, nor of its metrics', async () => {
    const graph = await ownGraph();
    const loaded = new Set(['index.ts']);
    // A set also visits what is added on the way.
    for (const file of loaded) for (const imported of graph.get(file) ?? []) loaded.add(imported);
    expect(loaded.size).toBeGreaterThan(50);
    expect([...loaded].filter((file) => /^(?:service|management|app|cli)\//.test(file))).toEqual([]);
  });
});

/** Prisma's generated files import each other. */
async function ownGraph(): Promise<Map<string, string[]>> {
  const graph = await importGraph(SOURCES);
  return new Map([...graph].filter(([file]) => !file.includes('generated')));
}
