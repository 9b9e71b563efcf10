import pg from 'pg';
import { reasonOf } from '../reason-of.js';
import { prepareDataDirectory } from './data-directory.js';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { FolderInUseError } from './folder-in-use.error.js';
import { FolderLock } from './folder-lock.js';
import { findPostgresPackage } from './postgres-package.js';
import { PostgresPrograms } from './postgres-programs.js';
import { Postmaster, type Settings } from './postmaster.js';
import { ServerHome } from './server-home.js';
import { EMBEDDED_DATABASE, serverUrl } from './server-url.js';

export interface EmbeddedPostgresOptions {
  /** Folder that holds the data; made if missing. One server at a time runs in it. */
  readonly directory: string;
  /** Told, line by line, what a user should know of. */
  readonly log?: (line: string) => void;
  /** In place of those that keep the data safe: tests, which throw them away, do not wait for the disk. */
  readonly settings?: Settings;
}

/** A PostgreSQL server of this process's own, its data kept in a folder. */
export class EmbeddedPostgres {
  private stopping: Promise<void> | undefined;

  private constructor(
    /** With the password. */
    readonly url: string,
    /** Where the data really are: not in `directory` if root runs us in a folder that only root can enter. */
    readonly location: string,
    private readonly postmaster: Postmaster,
    private readonly lock: FolderLock,
  ) {}

  /** @throws EmbeddedPostgresError that says what is in the way and what to do. */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    try {
      return await EmbeddedPostgres.startLocked(options);
    } catch (error) {
      if (error instanceof EmbeddedPostgresError) throw error;
      throw new EmbeddedPostgresError(
        `The embedded PostgreSQL did not start in ${options.directory}: ${reasonOf(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Ends the server, writing everything to the disk, and frees the folder. May be called more than once. */
  stop(): Promise<void> {
    this.stopping ??= this.postmaster.stop().finally(() => this.lock.release());
    return this.stopping;
  }

  private static async startLocked({
    directory,
    log = () => undefined,
    settings,
  }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const source = await findPostgresPackage();
    const home = await ServerHome.find(directory);
    const lock = await FolderLock.acquire(home.folder);
    if (!(lock instanceof FolderLock)) {
      throw new FolderInUseError(directory, lock.pid);
    }
    let postmaster: Postmaster | undefined;
    try {
      if (home.relocated) {
        log(
          `PostgreSQL does not run as root, and no other user can work in ${directory}: its data are in ${home.data}.`,
        );
      }
      const programs = await PostgresPrograms.prepare(source, home.user, home.folder);
      const password = await prepareDataDirectory(home, programs);
      postmaster = await Postmaster.start(home, programs, settings);
      await ensureDatabase(serverUrl(password, postmaster.port, 'postgres'));
      const started = new EmbeddedPostgres(serverUrl(password, postmaster.port), home.data, postmaster, lock);
      void postmaster.ended.then(() => {
        if (!started.stopping) log(`The embedded PostgreSQL has ended by itself; its log is ${home.logFile}.`);
      });
      return started;
    } catch (error) {
      await postmaster?.stop();
      await lock.release();
      throw error;
    }
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [EMBEDDED_DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${EMBEDDED_DATABASE}`);
  } finally {
    await client.end();
  }
}
