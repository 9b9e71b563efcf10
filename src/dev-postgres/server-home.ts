import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './errors.js';

const run = promisify(execFile);

/** Where root keeps what the server's user cannot reach in root's own folders. */
export const SHARED_FOLDER = '/var/lib/plant-store';

/** The system user that PostgreSQL runs as: our own or, as PostgreSQL refuses to run as root, another one in root's place. */
export class ServerUser {
  constructor(readonly ids?: { readonly uid: number; readonly gid: number }) {}

  static readonly ourselves = new ServerUser();

  /** An existing user. No user is made: only the administrator changes the accounts of the machine. */
  static async inPlaceOfRoot(): Promise<ServerUser> {
    const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
    for (const name of ['postgres', '_postgres', 'nobody']) {
      const account = accounts.find((fields) => fields[0] === name);
      if (account && account[2] !== '0') return new ServerUser({ uid: Number(account[2]), gid: Number(account[3]) });
    }
    throw new EmbeddedPostgresError(
      'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor a user "nobody" to run it as. ' +
        'Start as another user, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }

  /** A new folder in `parent` that only this user can use. */
  async makeFolder(parent: string, prefix: string): Promise<string> {
    const folder = await mkdtemp(join(parent, prefix));
    await this.own(folder);
    return folder;
  }

  async own(path: string): Promise<void> {
    if (this.ids) await chown(path, this.ids.uid, this.ids.gid);
  }

  /** Whether this user can keep files in a folder of its own inside `parent`. */
  async canKeepFilesIn(parent: string): Promise<boolean> {
    let probe: string | undefined;
    try {
      probe = await this.makeFolder(parent, '.probe-');
      return await this.succeeds('cd -- "$1" && : > probe', probe);
    } catch {
      return false;
    } finally {
      if (probe) await rm(probe, { recursive: true, force: true });
    }
  }

  /** Whether this user can do it. Tried, because modes say nothing of ACLs, mounts and capabilities. */
  succeeds(script: string, argument: string): Promise<boolean> {
    return run('/bin/sh', ['-c', script, 'sh', argument], { ...this.ids, cwd: '/' }).then(
      () => true,
      () => false,
    );
  }
}

/** The folder in which the server keeps its data, password and log, and the user it runs as there. */
export class ServerHome {
  readonly data: string;
  readonly passwordFile: string;
  readonly logFile: string;

  private constructor(
    readonly folder: string,
    readonly user: ServerUser,
    /** Whether this is not the folder that was asked for, because the server's user cannot work in that one. */
    readonly relocated: boolean,
  ) {
    this.data = join(folder, 'postgres');
    this.passwordFile = join(folder, 'postgres.password');
    this.logFile = join(folder, 'postgres.log');
  }

  static async find(directory: string): Promise<ServerHome> {
    await mkdir(directory, { recursive: true, mode: 0o755 });
    const folder = await realpath(directory);
    return process.getuid?.() === 0 ? ServerHome.inPlaceOfRoot(folder) : ServerHome.ofOurselves(folder);
  }

  private static async ofOurselves(folder: string): Promise<ServerHome> {
    const home = new ServerHome(folder, ServerUser.ourselves, false);
    const owner = (await home.dataOwner())?.uid;
    if (owner === undefined || owner === (process.getuid?.() ?? owner)) return home;
    throw new EmbeddedPostgresError(
      `The data in ${home.data} belong to another user (uid ${owner}). ` +
        'Start as that user or as root, start in another folder, or set DATABASE_URL.',
    );
  }

  private static async inPlaceOfRoot(folder: string): Promise<ServerHome> {
    const user = await ServerUser.inPlaceOfRoot();
    const relocated = join(SHARED_FOLDER, createHash('sha256').update(folder).digest('hex').slice(0, 12));
    const homes = [new ServerHome(folder, user, false), new ServerHome(relocated, user, true)];
    // Existing data decide: an empty store elsewhere would look like a loss.
    for (const home of homes) {
      const owner = await home.dataOwner();
      if (owner) return home.keptBy(owner.uid === 0 ? user : new ServerUser({ uid: owner.uid, gid: owner.gid }));
    }
    for (const home of homes) {
      if (home.relocated) await home.make().catch(() => undefined);
      if (await user.canKeepFilesIn(home.folder)) return home;
    }
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and no other user can keep its data in ${folder} or in ${SHARED_FOLDER}. ` +
        'Start in a folder that every user can enter, start as another user, or set DATABASE_URL.',
    );
  }

  private dataOwner(): Promise<{ uid: number; gid: number } | undefined> {
    return stat(this.data).catch(() => undefined);
  }

  private async keptBy(user: ServerUser): Promise<ServerHome> {
    if (await user.succeeds('cd -- "$1"', this.data)) return new ServerHome(this.folder, user, this.relocated);
    throw new EmbeddedPostgresError(
      `The data in ${this.data} cannot be reached by the user that PostgreSQL must run as (uid ${user.ids?.uid ?? 0}). ` +
        'Give that user the folder and let it pass through the folders above, or set DATABASE_URL.',
    );
  }

  private async make(): Promise<void> {
    await makeSharedFolder(SHARED_FOLDER);
    await mkdir(this.folder, { recursive: true, mode: 0o711 });
    await chmod(this.folder, 0o711);
  }
}

/** A folder that every user can enter, with any umask. */
export async function makeSharedFolder(folder: string): Promise<void> {
  if (await mkdir(folder, { recursive: true, mode: 0o755 })) await chmod(folder, 0o755);
}
