import { readFile } from 'node:fs/promises';

/** What one way of loading an entry leads to. */
interface Target {
  types: string;
  default: string;
}

interface Conditions {
  [condition: string]: Target | Conditions;
}

/** package.json, as far as tests read it. */
export interface PackageManifest {
  name: string;
  version: string;
  license: string;
  /** Each entry that holds code has a target for each way of loading it. */
  exports: Record<string, string | Conditions>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
  engines: { node: string };
}

export const MANIFEST = JSON.parse(
  await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
) as PackageManifest;

/** An import that a host may write, such as `plant-store/client`, and the files that it leads to, in each way of loading it. */
export interface PackageEntry {
  specifier: string;
  targets: Target[];
}

export const ENTRIES: PackageEntry[] = Object.entries(MANIFEST.exports).flatMap(([path, conditions]) =>
  typeof conditions === 'string' ? [] : [{ specifier: MANIFEST.name + path.slice(1), targets: targetsOf(conditions) }],
);

function targetsOf(conditions: Conditions | Target): Target[] {
  if (isTarget(conditions)) return [conditions];
  return Object.values(conditions).flatMap(targetsOf);
}

function isTarget(conditions: Conditions | Target): conditions is Target {
  return typeof conditions.types === 'string';
}
