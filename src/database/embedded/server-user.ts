import { execFile } from 'node:child_process';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';

const run = promisify(execFile);

/** The system user that PostgreSQL runs as: ourselves or, as PostgreSQL refuses to run as root, another one in root's place. */
export class ServerUser {
  private constructor(readonly ids?: { readonly uid: number; readonly gid: number }) {}

  static readonly ourselves = new ServerUser();

  /** Users are looked for and never made: changing the machine's accounts is the administrator's affair. */
  static async inPlaceOfRoot(): Promise<ServerUser> {
    const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
    for (const name of ['postgres', '_postgres', 'nobody']) {
      const account = accounts.find((fields) => fields[0] === name);
      if (account && account[2] !== '0') return ServerUser.of(Number(account[2]), Number(account[3]));
    }
    throw new EmbeddedPostgresError(
      'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor a user "nobody" to run it as. ' +
        'Start as another user, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }

  static of(uid: number, gid: number): ServerUser {
    return new ServerUser({ uid, gid });
  }

  /** A new folder in `parent` that is this user's own and nobody else's. */
  async makeFolder(parent: string, prefix: string): Promise<string> {
    const folder = await mkdtemp(join(parent, prefix));
    await this.own(folder);
    return folder;
  }

  async own(path: string): Promise<void> {
    if (this.ids) await chown(path, this.ids.uid, this.ids.gid);
  }

  /** Whether this user can enter the folder. Tried, because modes alone tell nothing of ACLs, mounts and capabilities. */
  async canEnter(folder: string): Promise<boolean> {
    return this.shell('cd -- "$1"', folder);
  }

  /** Whether this user can keep files in a folder of its own inside `parent`. */
  async canKeepFilesIn(parent: string): Promise<boolean> {
    let probe: string | undefined;
    try {
      probe = await this.makeFolder(parent, '.probe-');
      return await this.shell('cd -- "$1" && : > probe', probe);
    } catch {
      return false;
    } finally {
      if (probe) await rm(probe, { recursive: true, force: true });
    }
  }

  private async shell(script: string, argument: string): Promise<boolean> {
    try {
      await run('/bin/sh', ['-c', script, 'sh', argument], { ...this.ids, cwd: '/' });
      return true;
    } catch {
      return false;
    }
  }
}
