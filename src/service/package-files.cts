import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// CommonJS by its name too, though the tests run all other sources as ES modules: both kinds can ask such a file for its path.
const ROOT = join(__dirname, '../..');

/** The package's own package.json, from which its dependencies are resolved. */
export const PACKAGE_FILE = join(ROOT, 'package.json');

/** The entry of a package, as the package of `from` finds it; undefined if it is not installed. */
export function findPackage(name: string, from = PACKAGE_FILE): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string }).version;
}

/** The commit that was built, with "-dirty" if files differed from it; undefined if the build did not know. */
export function buildCommit(): string | undefined {
  try {
    return readFileSync(join(ROOT, 'dist/commit'), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
