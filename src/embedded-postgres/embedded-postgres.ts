import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withConnection } from '../database/connection.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import { ExplainedError, messageIfThrows, reasonOf } from '../util/text.js';
import {
  chooseHome,
  dataDirectoryIn,
  findPostgresPackage,
  initializeData,
  preparePrograms,
  readPassword,
  runAs,
} from './data-directory.js';

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
 * A PostgreSQL server that keeps its data in a folder. It is no child of this process: Nest's watch signals all of
 * them, and it must end after the service. After a kill -9 of the service it runs on, and the next start uses it.
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
   * @throws ExplainedError that says what is in the way and what to do
   */
  static async start(directory: string, wait = 0): Promise<EmbeddedPostgres> {
    let lock: Server | undefined;
    try {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      lock = await lockFolder(directory, wait);
      const { location, pid, url } = await findOrStart(directory);
      return new EmbeddedPostgres(location, pid, url, lock);
    } catch (cause) {
      lock?.close();
      if (cause instanceof ExplainedError) throw cause;
      const found = `The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}.`;
      throw new ExplainedError(`${found} Start in another folder, or set DATABASE_URL.`, { cause });
    }
  }

  /** Resolves when the server ends, with the message for a user who did not stop it. */
  async ended(): Promise<Error> {
    while (await this.isRunning()) await sleep(250, undefined, { ref: false });
    return new ExplainedError(
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

/** Uses the server that a killed service left behind, or starts one. The folder must be locked. */
async function findOrStart(directory: string): Promise<RunningServer> {
  const home = await chooseHome(directory);
  const location = dataDirectoryIn(home.folder);
  const bin = await preparePrograms(findPostgresPackage(), home.account, home.folder);
  if (!existsSync(location)) await initializeData(home, bin);
  const password = await readPassword(location);
  const log = logOf(location);
  const deadline = performance.now() + SERVER_TIMEOUT_MS;
  for (let starts = 0; ;) {
    const { pid, port, state } = await readPidFile(location);
    // Without TLS, so a PGSSLMODE of the environment must not count.
    const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
    if (pid !== 0 && state === 'ready' && (await answers(url))) return { location, pid, url };
    if (pid !== 0 && performance.now() < deadline) {
      // It starts or stops. Or it was killed, and the process will be gone, or is another one that has its id.
      await sleep(50);
      continue;
    }
    if (++starts > MAX_STARTS) break;
    const options = `--listen_addresses=127.0.0.1 --unix_socket_directories= --port=${randomInt(20_000, 32_000)}`;
    const args = ['start', `--pgdata=${location}`, `--log=${log}`, `--options=${options}`];
    // If it fails, the log says why.
    await runAs(home.account, join(bin, 'pg_ctl'), args).catch(() => undefined);
  }
  const end = (await readFile(log, 'utf8')).trim().split('\n').slice(-10).join('\n');
  throw new ExplainedError(`PostgreSQL did not start on the data in ${location}. The end of its log, ${log}:\n${end}`);
}

/** Whether it accepts the password in the URL. */
function answers(url: string): Promise<boolean> {
  return withConnection(parseDatabaseUrl(url), (query) => query('SELECT 1')).then(
    () => true,
    () => false,
  );
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

/**
 * Locks the folder by a socket in the abstract namespace of Linux, which the system frees when this process ends.
 * Elsewhere, or in two containers that share the folder, nothing refuses a second service.
 */
async function lockFolder(directory: string, wait: number): Promise<Server> {
  // Device and inode identify a folder under all its names.
  const { dev, ino } = await stat(directory, { bigint: true });
  const lock = createServer().unref();
  if (process.platform !== 'linux') return lock;
  const deadline = performance.now() + wait;
  for (let isFirst = true; ; isFirst = false) {
    try {
      await once(lock.listen(`\0plant-store-${dev}-${ino}`), 'listening');
      return lock;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
    const found = `Another plant store is running with the data in ${directory}.`;
    const advice = 'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.';
    if (performance.now() >= deadline) throw new ExplainedError(`${found} ${advice}`);
    // Nest's watch starts the next service while the one before still answers its requests.
    if (isFirst) console.warn(`${found} Waiting ${wait / 1000} s for it to stop …`);
    await sleep(20);
  }
}
