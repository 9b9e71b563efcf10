import { once } from 'node:events';
import { constants } from 'node:fs';
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { reasonOf } from '../../util/text.js';
import { EmbeddedPostgresError, findPostgresPackage, preparePrograms } from './binaries.js';
import { findHome, prepareData } from './data-directory.js';
import { type FolderLock, Postmaster, type ServerSettings } from './server.js';

const DATABASE = 'plants';
/** Time for the server of a service that was killed to end. */
const LOCK_TIMEOUT_MS = 30_000;
// open(2) of macOS takes the lock in the same call; Node has no name for the flag.
const O_EXLOCK = 0x20;

/** Another process runs the embedded PostgreSQL of that folder. */
export class FolderInUseError extends EmbeddedPostgresError {}

/** A PostgreSQL server of this process's own, its data kept in a folder. It ends at the latest with this process, also by a kill. */
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

  /**
   * @param directory the folder that holds the data; made if missing. One server at a time runs in it.
   * @param settings of the server, instead of those that keep the data safe: tests do not wait for the disk
   * @throws EmbeddedPostgresError that says what is in the way and what to do
   */
  static async start(directory: string, settings: ServerSettings = {}): Promise<EmbeddedPostgres> {
    let lock: FolderLock | undefined;
    let postmaster: Postmaster | undefined;
    try {
      const source = findPostgresPackage();
      await mkdir(directory, { recursive: true, mode: 0o755 });
      lock = await lockFolder(directory);
      const home = await findHome(directory);
      const programs = await preparePrograms(source, home.account, home.folder);
      const password = await prepareData(home, programs, lock);
      postmaster = await Postmaster.start(home, programs, lock, settings);
      await ensureDatabase(serverUrl(password, postmaster.port, 'postgres'));
      return new EmbeddedPostgres(serverUrl(password, postmaster.port), home.data, postmaster, lock);
    } catch (cause) {
      await postmaster?.stop();
      await lock?.[Symbol.asyncDispose]();
      if (cause instanceof EmbeddedPostgresError) throw cause;
      throw new EmbeddedPostgresError(`The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}`, {
        cause,
      });
    }
  }

  /** Resolves when the server ends, to what a user should know if nobody has stopped it. */
  async ended(): Promise<EmbeddedPostgresError> {
    const end = await this.postmaster.ended;
    return new EmbeddedPostgresError(
      `The embedded PostgreSQL has ended by itself (${end}): ${this.location}.log may say why. ` +
        'Every plant that was created is kept: start again.',
    );
  }

  /** Ends the server, and frees the folder. May be called more than once. */
  stop(): Promise<void> {
    this.stopping ??= this.postmaster.stop().finally(() => this.lock[Symbol.asyncDispose]());
    return this.stopping;
  }
}

/**
 * Keeps other services out of a folder. The operating system frees it when the last process that holds the lock has ended, so that
 * none is stale. Containers that share the folder and not the network do not see each other's.
 */
async function lockFolder(directory: string): Promise<FolderLock> {
  const lockFile = join(directory, 'postgres.lock');
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const lock = await (process.platform === 'linux' ? listenFor(directory) : openLocked(lockFile)).catch(isTaken);
    if (lock) {
      await writeFile(lockFile, String(process.pid));
      return lock;
    }
    const owner = parseInt(await readFile(lockFile, 'utf8').catch(() => ''), 10);
    // The server of one that was killed is about to end.
    if (isAlive(owner) || performance.now() > deadline) {
      throw new FolderInUseError(
        `Another plant store (process ${owner}) is running with the data in ${directory}. ` +
          'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.',
      );
    }
    await sleep(20);
  }
}

/** A socket without a file, in Linux' abstract namespace. By device and inode, so that a folder is one under all its names. */
async function listenFor(directory: string): Promise<FolderLock> {
  const { dev, ino } = await stat(directory, { bigint: true });
  const server = createServer((client) => client.destroy()).listen(`\0plant-store-${dev}-${ino}`);
  await once(server, 'listening');
  // Node has no other way to the descriptor, which a child needs to inherit the socket.
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  return Object.assign(server.unref(), { fd });
}

function openLocked(path: string): Promise<FolderLock> {
  return open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, 0o644);
}

function isTaken(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EAGAIN') throw error;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
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
