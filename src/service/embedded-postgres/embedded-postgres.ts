import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ExplainedError, reasonOf } from '../../util/text.js';
import { EmbeddedPostgresError, findPostgresPackage, preparePrograms } from './binaries.js';
import { findHome, prepareData } from './data-directory.js';
import { dataIn, type ServerSettings, startServer } from './server.js';

/** The folder of what the service makes for itself: the data of the embedded PostgreSQL, its URL, and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
/** The file of the URL, for psql and for `plant-store token`. */
export const LOCAL_URL = join(LOCAL_DIRECTORY, 'database-url');
/** The token that the service has made for itself. */
export const LOCAL_TOKEN = join(LOCAL_DIRECTORY, 'access-token');
/** Time for the server to write everything and end; then it is made to end, and repairs its data at the next start. */
const STOP_TIMEOUT_MS = 30_000;

/** A PostgreSQL server of this process's own, its data kept in a folder. It ends at the latest with this process, also by a kill. */
export class EmbeddedPostgres {
  private readonly exit: Promise<unknown[]>;

  private constructor(
    /** With the password. The server has no TLS, and a PGSSLMODE in the environment is meant for others. */
    readonly url: string,
    /** Where the data really are: not in `directory` if root runs us in a folder that only root can enter. */
    readonly location: string,
    private readonly server: ChildProcess,
  ) {
    this.exit = once(server, 'exit');
  }

  /**
   * @param directory the folder that holds the data; made if missing. One server at a time runs in it.
   * @param settings of the server, instead of those that keep the data safe: tests do not wait for the disk
   * @throws EmbeddedPostgresError that says what is in the way and what to do
   */
  static async start(directory: string, settings: ServerSettings = {}): Promise<EmbeddedPostgres> {
    try {
      const source = findPostgresPackage();
      await mkdir(directory, { recursive: true, mode: 0o755 });
      const { folder, account } = await findHome(directory);
      const place = { folder, account, programs: await preparePrograms(source, account, folder) };
      const password = await prepareData(place);
      const { child, port } = await startServer(place, settings);
      const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
      return new EmbeddedPostgres(url, dataIn(folder), child);
    } catch (cause) {
      if (cause instanceof ExplainedError) throw cause;
      const found = `The embedded PostgreSQL did not start in ${directory}: ${reasonOf(cause)}.`;
      throw new EmbeddedPostgresError(`${found} Start in another folder, or set DATABASE_URL.`, { cause });
    }
  }

  /** Resolves when the server ends, to what a user should know if nobody has stopped it. */
  async ended(): Promise<EmbeddedPostgresError> {
    const [code, signal] = await this.exit;
    return new EmbeddedPostgresError(
      `The embedded PostgreSQL has ended by itself (${String(signal ?? code)}): ${this.location}.log may say why. ` +
        'Every plant that was created is kept: start again.',
    );
  }

  /** Ends the server. Clients are sent away, transactions rolled back, and everything is written. */
  async stop(): Promise<void> {
    this.server.stdio[3]?.destroy();
    const forced = setTimeout(() => this.server.kill('SIGQUIT'), STOP_TIMEOUT_MS);
    await this.exit;
    clearTimeout(forced);
  }
}
