import { execFile } from 'node:child_process';
import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { reasonOf } from '../../util/text.js';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { hasCode } from './has-code.js';
import type { PostgresPackage } from './postgres-package.js';
import { copyPrograms } from './program-copy.js';
import type { ServerUser } from './server-user.js';
import { sharedFolders } from './shared-folders.js';

const run = promisify(execFile);
const suffix = process.platform === 'win32' ? '.exe' : '';

/** PostgreSQL's programs, in a place where the server's user can run them. */
export class PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;

  private constructor(readonly folder: string) {
    this.initdb = join(folder, 'bin', `initdb${suffix}`);
    this.postgres = join(folder, 'bin', `postgres${suffix}`);
    this.pgCtl = join(folder, 'bin', `pg_ctl${suffix}`);
  }

  /** In the package where possible, else in a copy: in a shared folder if we are root, or in `home`. */
  static async prepare(
    source: PostgresPackage,
    user: ServerUser,
    home: string,
    shared: AsyncIterable<string> = sharedFolders(),
  ): Promise<PostgresPrograms> {
    const inPlace = new PostgresPrograms(source.programs);
    await inPlace.repair().catch(() => undefined);
    let problem = await inPlace.problem(user);
    if (problem === undefined) return inPlace;
    for await (const parent of user.ids ? shared : [home]) {
      const copy = new PostgresPrograms(join(parent, `postgres-${source.name}`));
      await copyPrograms(source.programs, copy.folder);
      await copy.repair();
      problem = await copy.problem(user);
      if (problem === undefined) return copy;
    }
    throw new EmbeddedPostgresError(
      `The PostgreSQL in ${source.programs} does not run on this system: ${reasonOf(problem)}. ` +
        'Install the package again, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: problem },
    );
  }

  /** What stands in the way of running the programs as that user, found by running one. */
  private async problem(user: ServerUser): Promise<unknown> {
    try {
      await run(this.postgres, ['--version'], { ...user.ids, cwd: dirname(this.postgres), windowsHide: true });
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /**
   * Does what the package's install script would have done, as npm may not run it: an npm package holds neither
   * symbolic links nor, with some package managers, executable files. Each step may be done by several processes at once.
   */
  private async repair(): Promise<void> {
    for (const program of [this.initdb, this.postgres, this.pgCtl]) {
      if (((await stat(program)).mode & 0o111) !== 0o111) await chmod(program, 0o755);
    }
    const list = await readFile(join(this.folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
      const link = join(this.folder, relative('native', target));
      await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
        if (!hasCode(error, 'EEXIST')) throw error;
      });
    }
  }
}
