import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { installedPackages } from '../support/documents/installed-packages.js';
import { MANIFEST } from '../support/documents/package-manifest.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What the service is known for. */
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
/** Licences under which a package may be part of an MIT-licensed product, as packages spell them. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Python-2.0'];
/** It declares none in its package.json, and MIT in its Readme.md. */
const UNDECLARED = 'node_modules/pause';

interface Manifest {
  license?: string;
  licenses?: { type: string }[];
}

const read = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8');

function importedPackages(): string[] {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.spec)\.[cm]?ts$/.test(file),
  );
  const specifiers = sources
    // Types alone are not there when it runs.
    .map((file) => read('src', file).replace(/^import type [^;]*;/gm, ''))
    .flatMap((text) => ts.preProcessFile(text).importedFiles)
    .map(({ fileName }) => /^(?:@[^/]+\/)?[^/]+/.exec(fileName)?.[0] ?? '');
  return [...new Set(specifiers)].filter((name) => !name.startsWith('.') && !name.startsWith('node:'));
}

describe('package.json', () => {
  it('should declare every package that the code imports, and use the libraries that it is known for', () => {
    const imported = importedPackages();
    const declared = Object.keys({ ...MANIFEST.dependencies, ...MANIFEST.peerDependencies });
    expect(declared).toEqual(expect.arrayContaining(imported));
    expect(imported).toEqual(expect.arrayContaining(LIBRARIES));
    const commands = Object.values(MANIFEST.scripts).join('\n');
    for (const tool of ['prisma', 'jest', 'tsc']) expect(commands).toMatch(new RegExp(`\\b${tool}\\b`));
  });

  it('should add 26 packages at most to a host of Nest', async () => {
    const peers = await installedPackages('peers');
    const added = (await installedPackages('host')).filter((folder) => !peers.includes(folder));
    expect(added).toContain('node_modules/pg');
    // And the store itself.
    expect(added.length + 1).toBeLessThanOrEqual(26);
  });

  it('should need only packages whose licence is compatible with MIT', async () => {
    const licenceOf = (folder: string): string => {
      const { license, licenses } = JSON.parse(read(folder, 'package.json')) as Manifest;
      // As packages declared it before 2014.
      return license ?? licenses?.[0]?.type ?? 'none';
    };
    const installed = (await installedPackages('service')).filter((folder) => folder !== UNDECLARED);
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter((folder) => !ALLOWED.includes(licenceOf(folder)))).toEqual([]);
  });
});
