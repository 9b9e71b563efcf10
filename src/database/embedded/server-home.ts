import { createHash } from 'node:crypto';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { ServerUser } from './server-user.js';
import { existingSharedFolders, sharedFolders } from './shared-folders.js';

/** The folder in which the server keeps its data, password and log, and the user it runs as there. */
export class ServerHome {
  readonly data: string;
  readonly passwordFile: string;
  readonly logFile: string;

  private constructor(
    readonly folder: string,
    readonly user: ServerUser,
    /** Whether the home is not the folder that was asked for, because the server's user cannot work in that one. */
    readonly relocated: boolean,
  ) {
    this.data = join(folder, 'postgres');
    this.passwordFile = join(folder, 'postgres.password');
    this.logFile = join(folder, 'postgres.log');
  }

  static async find(directory: string): Promise<ServerHome> {
    await mkdir(directory, { recursive: true });
    const folder = await realpath(directory);
    if (process.getuid?.() !== 0) return ServerHome.ofOurselves(folder);
    const user = await ServerUser.inPlaceOfRoot();
    return (
      (await ServerHome.withData(folder, user)) ?? (await ServerHome.inReach(folder, user)) ?? ServerHome.refuse(folder)
    );
  }

  private static async ofOurselves(folder: string): Promise<ServerHome> {
    const home = new ServerHome(folder, ServerUser.ourselves, false);
    const owner = (await stat(home.data).catch(() => undefined))?.uid;
    if (owner === undefined || owner === (process.getuid?.() ?? owner)) return home;
    throw new EmbeddedPostgresError(
      `The data in ${home.data} belong to another user (uid ${owner}). ` +
        'Start as that user or as root, start in another folder, or set DATABASE_URL.',
    );
  }

  // Data that are there decide: starting beside them with an empty store would look like a loss.
  private static async withData(folder: string, user: ServerUser): Promise<ServerHome | undefined> {
    const candidates = [folder];
    for await (const shared of existingSharedFolders()) candidates.push(join(shared, relocatedName(folder)));
    for (const candidate of candidates) {
      const data = join(candidate, 'postgres');
      const owner = await stat(data).catch(() => undefined);
      if (!owner) continue;
      const keeper = owner.uid === 0 ? user : ServerUser.of(owner.uid, owner.gid);
      if (await keeper.canEnter(data)) return new ServerHome(candidate, keeper, candidate !== folder);
      throw new EmbeddedPostgresError(
        `The data in ${data} cannot be reached by the user that PostgreSQL must run as (uid ${keeper.ids?.uid ?? 0}). ` +
          'Give that user the folder and let it pass through the folders above, or set DATABASE_URL.',
      );
    }
    return undefined;
  }

  private static async inReach(folder: string, user: ServerUser): Promise<ServerHome | undefined> {
    if (await user.canKeepFilesIn(folder)) return new ServerHome(folder, user, false);
    for await (const shared of sharedFolders()) {
      const candidate = join(shared, relocatedName(folder));
      await mkdir(candidate, { recursive: true });
      await chmod(candidate, 0o711);
      if (await user.canKeepFilesIn(candidate)) return new ServerHome(candidate, user, true);
    }
    return undefined;
  }

  private static refuse(folder: string): never {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and no other user can keep its data in ${folder} or in a place like /var/lib. ` +
        'Start in a folder that every user can enter, start as another user, or set DATABASE_URL.',
    );
  }
}

function relocatedName(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 12);
}
