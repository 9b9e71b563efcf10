import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { findPostgresPackage, PostgresBinaries } from './binaries.js';
import { prepareDataDirectory, readPassword } from './data-directory.js';
import { EmbeddedPostgresError, FolderInUseError } from './errors.js';
import { lockFolder } from './folder-lock.js';
import { ServerHome } from './server-home.js';
import { isServerOf, Postmaster, readPidFile, type ServerSettings } from './server.js';

const DATABASE = 'plants';
/** Time for another process that is starting its server, and perhaps making or repairing the data. */
const SEARCH_TIMEOUT_MS = 20_000;
/** Before each start of a server that has ended by itself. There are no more, unless it ran well in between. */
const RESTART_PAUSES_MS = [100, 1000, 2000, 4000];
const RUNS_WELL_AFTER_MS = 60_000;

interface EmbeddedPostgresOptions {
  /** Folder that holds the data; made if missing. One server at a time runs in it. */
  readonly directory: string;
  /** Receives, line by line, what a user should know. */
  readonly log?: (line: string) => void;
  /** Settings of the server, instead of those that keep the data safe: tests do not wait for the disk. */
  readonly settings?: ServerSettings;
}

/** A PostgreSQL server of this process's own, its data kept in a folder. It is started again if it ends by itself. */
export class EmbeddedPostgres {
  /** Resolves if it has ended by itself too often, or does not start again. */
  readonly failed: Promise<EmbeddedPostgresError>;
  private stopping: Promise<void> | undefined;

  private constructor(
    /** With the password. */
    readonly url: string,
    private readonly home: ServerHome,
    private postmaster: Promise<Postmaster>,
    private readonly lock: AsyncDisposable,
    public log: (line: string) => void,
    start: () => Promise<Postmaster>,
  ) {
    this.failed = this.keepRunning(start);
  }

  /** Where the data really are: not in `directory` if root runs us in a folder that only root can enter. */
  get location(): string {
    return this.home.data;
  }

  /** @throws EmbeddedPostgresError that says what is in the way and what to do. */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const { directory, log = () => undefined, settings } = options;
    let lock: AsyncDisposable | undefined;
    let postmaster: Postmaster | undefined;
    try {
      const source = await findPostgresPackage();
      const home = await ServerHome.find(directory);
      const result = await lockFolder(home.folder);
      if ('pid' in result) throw new FolderInUseError(directory, result.pid);
      lock = result;
      if (home.relocated) {
        const reason = `PostgreSQL does not run as root, and no other user can work in ${directory}`;
        log(`${reason}: its data are in ${home.data}.`);
      }
      const binaries = await PostgresBinaries.prepare(source, home.user, home.folder);
      const password = await prepareDataDirectory(home, binaries);
      postmaster = await Postmaster.start(home, binaries, settings);
      const { port } = postmaster;
      await ensureDatabase(serverUrl(password, port, 'postgres'));
      const restart = (): Promise<Postmaster> => Postmaster.start(home, binaries, { ...settings, port });
      return new EmbeddedPostgres(serverUrl(password, port), home, Promise.resolve(postmaster), lock, log, restart);
    } catch (cause) {
      await postmaster?.stop();
      await lock?.[Symbol.asyncDispose]();
      if (cause instanceof EmbeddedPostgresError) throw cause;
      throw new EmbeddedPostgresError(`The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}`, {
        cause,
      });
    }
  }

  /** Ends the server, writing everything to the disk, and frees the folder. May be called more than once. */
  stop(): Promise<void> {
    const end = async (): Promise<void> => (await this.postmaster.catch(() => undefined))?.stop();
    this.stopping ??= end().finally(() => this.lock[Symbol.asyncDispose]());
    return this.stopping;
  }

  private async keepRunning(start: () => Promise<Postmaster>): Promise<EmbeddedPostgresError> {
    let restarts = 0;
    for (;;) {
      const reason = await this.postmaster.then(async ({ ended }) => {
        const since = performance.now();
        const end = await ended;
        if (performance.now() - since > RUNS_WELL_AFTER_MS) restarts = 0;
        return `The embedded PostgreSQL has ended by itself (${end}; its log is ${this.home.logFile})`;
      }, reasonOf);
      const pause = RESTART_PAUSES_MS[restarts++];
      if (pause === undefined)
        return new EmbeddedPostgresError(
          `${reason}. After ${RESTART_PAUSES_MS.length} starts in a row it is not started again`,
        );
      if (!this.stopping) this.log(`${reason}. It is started again in ${pause / 1000} s`);
      await sleep(pause, undefined, { ref: false });
      if (this.stopping) return new Promise(() => undefined);
      this.postmaster = start();
    }
  }
}

/** The URL of the embedded PostgreSQL that another process runs with the data in this folder. */
export async function runningServerUrl(directory: string): Promise<string> {
  const home = await ServerHome.find(directory);
  const deadline = performance.now() + SEARCH_TIMEOUT_MS;
  for (;;) {
    const state = await readPidFile(home.data);
    // The file of a server that is gone says that it is ready, too.
    if (state?.ready && state.port !== undefined && (await isServerOf(home.data, state.pid))) {
      const password = await readPassword(home);
      if (password !== undefined) return serverUrl(password, state.port);
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Another plant store is running with the data in ${directory}, but its PostgreSQL cannot be found. ` +
          'Try again when it listens, or stop it.',
      );
    }
    await sleep(50);
  }
}

// A PGSSLMODE in the environment is meant for other servers: this one has no TLS, and listens on this machine only.
function serverUrl(password: string, port: number, database = DATABASE): string {
  return `postgresql://postgres:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT FROM pg_catalog.pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}
