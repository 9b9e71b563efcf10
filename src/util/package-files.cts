import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// CommonJS by its name too, where the tests run all other sources as ES modules: both kinds can ask such a file where it is.
const ROOT = join(__dirname, '../..');

/** The package's own package.json, from which its dependencies are resolved. */
export const PACKAGE_FILE = join(ROOT, 'package.json');

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string }).version;
}
