import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the migrations that belong to this version. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

/** The URL of the package's own package.json, from which its dependencies are resolved. */
export const PACKAGE_FILE = new URL('../../package.json', import.meta.url).href;

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(new URL(PACKAGE_FILE), 'utf8')) as { version: string }).version;
}

/** The URL of a module of a package that this one depends on. */
export function resolvePackage(name: string): string {
  return import.meta.resolve(name);
}
