import { readFile } from 'node:fs/promises';

/** package.json, as far as tests read it. */
export interface PackageManifest {
  version: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
}

export const MANIFEST = JSON.parse(
  await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
) as PackageManifest;
