import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// This file is CommonJS in the tests too, where all other sources are ES modules. Only so can both ask for its path.
const ROOT = join(__dirname, '../..');

/** The package.json of this package. Dependencies are resolved from it. */
export const PACKAGE_FILE = join(ROOT, 'package.json');

/** The main file of a package as `from` resolves it; undefined if it is not installed. */
export function findPackage(name: string, from = PACKAGE_FILE): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

export function packageVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string }).version;
}

/** The built commit, with "-dirty" if files differed; undefined if the build did not know it. */
export function buildCommit(): string | undefined {
  try {
    return readFileSync(join(ROOT, 'dist/commit'), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
