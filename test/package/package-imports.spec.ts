import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importsOf } from '../support/documents/import-graph.js';
import { MANIFEST } from '../support/documents/package-manifest.js';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const { dependencies, peerDependencies } = MANIFEST;
/** class-transformer by the decorators of `NewPlant`. */
const LIBRARIES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/passport',
  '@nestjs/platform-express',
  '@nestjs/swagger',
  '@prisma/client',
  'class-transformer',
  'class-validator',
  'passport-http-bearer',
];

function undeclared(packages: Iterable<string>): string[] {
  return [...packages].filter((name) => !(name in dependencies) && !(name in peerDependencies));
}

async function packagesOf(file: string): Promise<string[]> {
  return [...(await importsOf(fromRoot(file)))].filter((name) => !name.startsWith('node:'));
}

describe('package.json', () => {
  it.each(['dist/index.js', 'dist/main.js'])('should declare every package that %s imports', async (module) => {
    const packages = await packagesOf(module);

    expect(packages).not.toEqual([]);
    expect(undeclared(packages)).toEqual([]);
  });

  it('should use the libraries that the service is known for', async () => {
    expect([...(await packagesOf('dist/main.js'))]).toEqual(expect.arrayContaining(LIBRARIES));
    const commands = Object.values(MANIFEST.scripts).join('\n');
    for (const tool of ['prisma', 'jest', 'tsc']) expect(commands).toMatch(new RegExp(`\\b${tool}\\b`));
  });

  it('should have nothing of the metrics loaded by a host', async () => {
    expect(await packagesOf('dist/main.js')).toContain('prom-client');
    expect(await packagesOf('dist/index.js')).not.toContain('prom-client');
  });

  it.each(['dist/index.d.ts', 'dist/index.d.mts'])(
    'should declare every package, and its types, that %s imports',
    async (declarations) => {
      const packages = await packagesOf(declarations);
      const types = packages
        .map((name) => `@types/${name}`)
        .filter((name) => existsSync(fromRoot(`node_modules/${name}`)));

      expect(undeclared([...packages, ...types])).toEqual([]);
    },
  );
});
