import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cyclesOf, folderGraph, importGraph } from './support/import-graph.js';

const SOURCES = fileURLToPath(new URL('../src', import.meta.url));

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

  it('should find its own files in one place only', async () => {
    const using: string[] = [];
    for (const file of (await ownGraph()).keys()) {
      if (/import\.meta|__dirname|__filename/.test(await readFile(join(SOURCES, file), 'utf8'))) using.push(file);
    }
    expect(using).toEqual(['util/package-files.cts']);
  });
});

/** Prisma's generated files import each other. */
async function ownGraph(): Promise<Map<string, string[]>> {
  return new Map([...(await importGraph(SOURCES))].filter(([file]) => !file.includes('generated')));
}
