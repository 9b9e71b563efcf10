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
