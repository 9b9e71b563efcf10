import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExplainedError, messageIfThrows, reasonOf } from '../util/text.js';
import { EmbeddedPostgresError, findPostgresPackage, preparePrograms } from './binaries.js';
import { chooseDataFolder, prepareData } from './data-directory.js';
import { dataDirectoryIn, type PostgresInstance, type ServerSettings, startServer } from './server.js';

/** The folder for the data of the embedded PostgreSQL, its URL and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
/** psql and `plant-store token` read the URL from this file. */
export const LOCAL_URL_FILE = join(LOCAL_DIRECTORY, 'database-url');
export const LOCAL_TOKEN_FILE = join(LOCAL_DIRECTORY, 'access-token');
/** How long the server of a killed service may take to end. */
const LOCK_TIMEOUT_MS = 30_000;
/** How long another service may take to end: Nest's watch starts the next one while the one before answers its requests. */
const STOP_OF_OTHER_MS = 4000;
/** How long the server may take to end. Then it is killed, and repairs its data at the next start. */
const STOP_TIMEOUT_MS = 30_000;
// open(2) of macOS can lock the file in the same call. The last flag is its O_EXLOCK, for which Node.js has no name.
const OPEN_LOCKED = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | 0x20;
const TAKEN = ['EADDRINUSE', 'EAGAIN'];

type FolderLock = PostgresInstance['lock'] & AsyncDisposable;

/** A PostgreSQL server that keeps its data in a folder. It ends with this process at the latest, even after a kill. */
export class EmbeddedPostgres {
  private readonly exit: Promise<unknown[]>;

  private constructor(
    /** The URL with the password. The server has no TLS, so a PGSSLMODE of the environment must not count. */
    readonly url: string,
    /** The folder of the data. It is not `directory` if root runs us in a folder that only root can enter. */
    readonly location: string,
    private readonly server: ChildProcess,
    private readonly lock: FolderLock,
  ) {
    this.exit = once(server, 'exit');
  }

  /**
   * @param directory the folder of the data; made if missing. Only one server runs in it.
   * @param settings other settings of the server: tests do not wait for the disk
   * @throws EmbeddedPostgresError that says what is in the way and what to do
   */
  static async start(directory: string, settings: ServerSettings = {}): Promise<EmbeddedPostgres> {
    let lock: FolderLock | undefined;
    try {
      const source = findPostgresPackage();
      await mkdir(directory, { recursive: true, mode: 0o755 });
      lock = await lockFolder(directory);
      const { folder, account } = await chooseDataFolder(directory);
      const instance = { folder, account, lock, programs: await preparePrograms(source, account, folder) };
      const password = await prepareData(instance);
      const { child, port } = await startServer(instance, settings);
      const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
      return new EmbeddedPostgres(url, dataDirectoryIn(folder), child, lock);
    } catch (cause) {
      await lock?.[Symbol.asyncDispose]();
      if (cause instanceof ExplainedError) throw cause;
      const found = `The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}.`;
      throw new EmbeddedPostgresError(`${found} Start in another folder, or set DATABASE_URL.`, { cause });
    }
  }

  /** Resolves when the server ends, with the message for a user who did not stop it. */
  async ended(): Promise<EmbeddedPostgresError> {
    const [code, signal] = await this.exit;
    return new EmbeddedPostgresError(
      `The embedded PostgreSQL has ended by itself (${String(signal ?? code)}): ${this.location}.log may say why. ` +
        'Every plant that was created is kept: start again.',
    );
  }

  /** Stops the server and frees the folder. Open transactions are rolled back, and all data are written. */
  async stop(): Promise<void> {
    this.server.stdio[3]?.destroy();
    const forced = setTimeout(() => this.server.kill('SIGQUIT'), STOP_TIMEOUT_MS);
    await this.exit;
    clearTimeout(forced);
    await this.lock[Symbol.asyncDispose]();
  }
}

/**
 * Locks the folder for this service. The operating system frees the lock when its last process ends, so no lock is
 * stale. Containers that share the folder but not the network do not see the lock.
 */
async function lockFolder(directory: string): Promise<FolderLock> {
  const lockFile = join(directory, 'postgres.lock');
  const start = performance.now();
  for (;;) {
    try {
      const lock = await (process.platform === 'linux' ? listenFor(directory) : open(lockFile, OPEN_LOCKED, 0o644));
      await writeFile(lockFile, String(process.pid));
      return lock;
    } catch (error) {
      if (!TAKEN.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    const owner = parseInt(await readFile(lockFile, 'utf8').catch(() => ''), 10);
    const isAlive = messageIfThrows(() => process.kill(owner, 0)) === undefined;
    // The server of a killed service is about to end, and so may another service be.
    if (performance.now() > start + (isAlive ? STOP_OF_OTHER_MS : LOCK_TIMEOUT_MS)) {
      throw new EmbeddedPostgresError(
        `Another plant store (process ${owner}) is running with the data in ${directory}. ` +
          'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.',
      );
    }
    await sleep(20);
  }
}

/** Listens on a socket in the abstract namespace of Linux. Device and inode identify a folder under all its names. */
async function listenFor(directory: string): Promise<FolderLock> {
  const { dev, ino } = await stat(directory, { bigint: true });
  const server = createServer((client) => client.destroy()).listen(`\0plant-store-${dev}-${ino}`);
  await once(server, 'listening');
  // A child needs the descriptor to inherit the socket, and Node.js offers no other way to it.
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  return Object.assign(server.unref(), { fd });
}
