import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withConnection } from '../prisma/connection.js';
import { parseDatabaseUrl } from '../prisma/database-url.js';
import { ExplainedError, messageIfThrows, reasonOf } from '../util/text.js';
import { EmbeddedPostgresError, findPostgresPackage, preparePrograms, runAs } from './binaries.js';
import { chooseHome, dataDirectoryIn, initializeData, readPassword } from './data-directory.js';

/** The folder for the data of the embedded PostgreSQL, its URL and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
/** psql and `plant-store token` read the URL from this file. */
export const LOCAL_URL_FILE = join(LOCAL_DIRECTORY, 'database-url');
/** How long the server may take to start or to end. */
export const SERVER_TIMEOUT_MS = 10_000;
/** Another program may have the port. */
const MAX_STARTS = 5;

type RunningServer = Pick<EmbeddedPostgres, 'location' | 'pid' | 'url'>;

/**
 * A PostgreSQL server that keeps its data in a folder. It is no child of this process: Nest's watch signals all of them,
 * and it must end after the service. After a kill -9 of the service it runs on, and the next start uses it.
 */
export class EmbeddedPostgres {
  private constructor(
    /** The folder of the data. It is not `directory` if root runs us in a folder that only root can enter. */
    readonly location: string,
    readonly pid: number,
    /** The URL with the password. */
    readonly url: string,
    private readonly lock: Server,
  ) {
    // The second Ctrl-C ends the service at once.
    process.once('exit', this.interrupt);
  }

  /**
   * @param directory the folder of the data; made if missing. Only one service uses it
   * @param wait how long another service in the folder may take to stop, in milliseconds
   * @throws EmbeddedPostgresError that says what is in the way and what to do
   */
  static async start(directory: string, wait = 0): Promise<EmbeddedPostgres> {
    let lock: Server | undefined;
    try {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      lock = await lockFolder(directory, wait);
      await writeFile(ownerFileIn(directory), String(process.pid));
      const { location, pid, url } = await findOrStart(directory);
      return new EmbeddedPostgres(location, pid, url, lock);
    } catch (cause) {
      lock?.close();
      if (cause instanceof ExplainedError) throw cause;
      const found = `The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}.`;
      throw new EmbeddedPostgresError(`${found} Start in another folder, or set DATABASE_URL.`, { cause });
    }
  }

  /** Resolves when the server ends, with the message for a user who did not stop it. */
  async ended(): Promise<EmbeddedPostgresError> {
    while (await this.isRunning()) await sleep(250, undefined, { ref: false });
    return new EmbeddedPostgresError(
      `The embedded PostgreSQL has ended by itself: ${logOf(this.location)} may say why. ` +
        'Every plant that was created is kept: start again.',
    );
  }

  /** Stops the server and frees the folder. Open transactions are rolled back, and all data are written. */
  async stop(): Promise<void> {
    process.off('exit', this.interrupt);
    this.interrupt();
    while (await this.isRunning()) await sleep(20);
    this.lock.close();
  }

  private readonly interrupt = (): void => {
    // It may have ended by itself.
    messageIfThrows(() => process.kill(this.pid, 'SIGINT'));
  };

  private async isRunning(): Promise<boolean> {
    return (await readPidFile(this.location)).pid === this.pid;
  }
}

async function findOrStart(directory: string): Promise<RunningServer> {
  const home = await chooseHome(directory);
  const data = dataDirectoryIn(home.folder);
  let server = existsSync(data) ? await findServer(data) : undefined;
  if (server) return server;
  const bin = await preparePrograms(findPostgresPackage(), home.account, home.folder);
  if (!existsSync(data)) await initializeData(home, bin);
  const log = logOf(data);
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const options = `--listen_addresses=127.0.0.1 --unix_socket_directories= --port=${randomInt(20_000, 32_000)}`;
    const args = ['start', `--pgdata=${data}`, `--log=${log}`, `--options=${options}`];
    // If it fails, the log says why.
    await runAs(home.account, join(bin, 'pg_ctl'), args).catch(() => undefined);
    server = await findServer(data);
    if (server) return server;
  }
  const end = (await readFile(log, 'utf8')).trim().split('\n').slice(-10).join('\n');
  const found = `PostgreSQL did not start on the data in ${data}. The end of its log, ${log}:`;
  throw new EmbeddedPostgresError(`${found}\n${end}`);
}

/** Finds a server on the data that accepts our password. Waits for one that starts or stops. */
async function findServer(location: string): Promise<RunningServer | undefined> {
  const password = await readPassword(location);
  const deadline = performance.now() + SERVER_TIMEOUT_MS;
  let { pid, port, state } = await readPidFile(location);
  while (pid !== 0 && state !== 'ready' && performance.now() < deadline) {
    await sleep(20);
    ({ pid, port, state } = await readPidFile(location));
  }
  if (pid === 0) return undefined;
  // Without TLS, so a PGSSLMODE of the environment must not count.
  const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
  // A killed server leaves its file behind, and others may have its process id and port by now.
  const answer = withConnection(parseDatabaseUrl(url), (query) => query('SELECT 1')).catch(() => undefined);
  return (await answer) && { location, pid, url };
}

/** `postmaster.pid` has one value a line. PostgreSQL removes it at its end. The pid is 0 if its process has ended. */
async function readPidFile(data: string): Promise<{ pid: number; port: string; state: string }> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [id = '', , , port = '', , , , state = ''] = text.split('\n').map((line) => line.trim());
  const isAlive = Number(id) > 0 && messageIfThrows(() => process.kill(Number(id), 0)) === undefined;
  return { pid: isAlive ? Number(id) : 0, port, state };
}

function logOf(data: string): string {
  return join(data, 'postgres.log');
}

/** For the message to the next service. */
function ownerFileIn(directory: string): string {
  return join(directory, 'postgres.lock');
}

/**
 * Locks the folder by a socket in the abstract namespace of Linux, which the system frees when this process ends.
 * Containers that share the folder but not the network do not see it.
 */
async function lockFolder(directory: string, wait: number): Promise<Server> {
  // Device and inode identify a folder under all its names.
  const { dev, ino } = await stat(directory, { bigint: true });
  const deadline = performance.now() + wait;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const lock = createServer().unref().listen(`\0plant-store-${dev}-${ino}`);
      await once(lock, 'listening');
      return lock;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
    const owner = await readFile(ownerFileIn(directory), 'utf8').catch(() => '');
    const found = `Another plant store (process ${owner}) is running with the data in ${directory}.`;
    const advice = 'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.';
    if (performance.now() >= deadline) throw new EmbeddedPostgresError(`${found} ${advice}`);
    // Nest's watch starts the next service while the one before still answers its requests.
    if (isFirst) console.warn(`${found} Waiting ${wait / 1000} s for it to stop …`);
    await sleep(20);
  }
}
