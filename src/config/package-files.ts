import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from './configuration.js';

/** The package.json of this package. Dependencies are resolved from it. */
export const PACKAGE_FILE = fileURLToPath(new URL('../../package.json', import.meta.url));

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

/** The commit of a package or an image, with "-dirty" if files differed; undefined in a checkout. */
export function buildCommit(): string | undefined {
  try {
    return readFileSync(new URL('../commit', import.meta.url), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Checks the optional peers that only the service needs. @throws ConfigurationError with the command to install them
 */
export function assertInstalled(): void {
  const missing = ['@nestjs/platform-express', 'express'].filter((name) => findPackage(name) === undefined);
  if (missing.length === 0) return;
  const command =
    'run "npm run install:prod" in a checkout, "npm install @nestjs/platform-express@12 express@5" elsewhere';
  throw new ConfigurationError([
    `${missing.join(' and ')}, which only the service needs, must be installed: ${command}`,
  ]);
}
