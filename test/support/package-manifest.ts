import { readFile } from 'node:fs/promises';

/** package.json, as far as tests read it. */
export interface PackageManifest {
  name: string;
  version: string;
  license: string;
  /** Each entry that holds code has its declarations and its module. */
  exports: Record<string, string | { types: string; default: string }>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  engines: { node: string };
}

export const MANIFEST = JSON.parse(
  await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
) as PackageManifest;

/** An import that a host may write, such as `plant-store/client`, and the files it leads to. */
export interface PackageEntry {
  specifier: string;
  declarations: string;
  module: string;
}

export const ENTRIES: PackageEntry[] = Object.entries(MANIFEST.exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [{ specifier: MANIFEST.name + path.slice(1), declarations: target.types, module: target.default }],
);
