import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { cyclesOf, folderGraph, importGraph } from '../support/documents/import-graph.js';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));
const LOADS_CITUS = 'database/load-citus.ts';

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
    expect([...loaded].filter((file) => /^(?:http\/server|management|app|cli)\//.test(file))).toEqual([]);
  });

  it('should know of Citus in one place only, which loads it', async () => {
    const graph = await importGraph(SOURCES);
    const isCitus = (file: string): boolean => file.startsWith('citus/');
    const importing = [...graph].filter(([file, imported]) => !isCitus(file) && imported.some(isCitus));
    expect(importing.map(([file]) => file)).toEqual([LOADS_CITUS]);
  });
});

/** Prisma's generated files import each other. One import leads upwards, when the service runs. */
async function ownGraph(): Promise<Map<string, string[]>> {
  const graph = await importGraph(SOURCES);
  graph.set(LOADS_CITUS, []);
  return new Map([...graph].filter(([file]) => !file.includes('generated')));
}
