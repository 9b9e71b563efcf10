import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Migrator } from '../../../src/database/migrator.js';
import {
  type Account,
  findPostgresPackage,
  giveTo,
  preparePrograms,
  runAs,
  serverAccount,
  serverEnvironment,
} from '../../../src/embedded-postgres/data-directory.js';
import { freePort } from '../http/free-port.js';
import { until } from '../until.js';
import { query } from './test-database.js';

const run = promisify(execFile);

const START_TIMEOUT_MS = 60_000;
const SETTINGS = {
  max_connections: 60,
  // For a standby that comes back.
  wal_keep_size: '32MB',
  wal_retrieve_retry_interval: '100ms',
};
/** To a process, and to its children, of which it starts no others meanwhile. */
const SIGNAL_ALL = 'kill -STOP "$1"; pkill "-$2" -P "$1"; kill "-$2" "$1"';

/**
 * A PostgreSQL server that waits for its disk, and whose processes can be killed, stopped, copied and started again. It
 * asks for no password.
 */
export class PostgresServer {
  private child: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    private readonly programs: string,
    private readonly settings: Readonly<Record<string, string | number>>,
    readonly account: Account,
    readonly port: number,
  ) {}

  /**
   * With an empty database `plants`.
   * @param programs the folder of its programs, unless they are those of the embedded PostgreSQL
   */
  static async create(settings: PostgresServer['settings'], programs?: string): Promise<PostgresServer> {
    const account = await serverAccount();
    const folder = await makeFolder(account);
    const bin = programs ?? (await preparePrograms(findPostgresPackage(), account, folder));
    const server = new PostgresServer(folder, bin, settings, account, await freePort());
    const args = [`--pgdata=${server.data}`, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
    await runAs(account, join(bin, 'initdb'), args);
    await server.start();
    await query(server.url('postgres', 'postgres'), 'CREATE DATABASE plants');
    return server;
  }

  /** With the tables of the store. */
  static async createMigrated(): Promise<PostgresServer> {
    const server = await PostgresServer.create(SETTINGS);
    await new Migrator({ url: server.url() }).migrate();
    return server;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  url(user = 'postgres', database = 'plants'): string {
    return `postgresql://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** Resolves when it takes connections. */
  async start(): Promise<void> {
    await until(async () => {
      // Processes of a killed server may need a moment to end, and a new one does not start before.
      if (this.hasEnded()) await this.spawn();
      return query(this.url('postgres', 'postgres'), 'SELECT').then(Boolean, () => false);
    }, START_TIMEOUT_MS);
  }

  /** `SIGINT` ends the sessions and writes everything to the disk; `SIGQUIT` leaves that to the next start. */
  async end(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    this.child?.kill(signal);
    await this.ended();
  }

  async ended(): Promise<void> {
    if (this.child && !this.hasEnded()) await once(this.child, 'exit');
  }

  /** kill -9 of all of its processes. */
  async kill(): Promise<void> {
    if (!this.hasEnded()) await this.signalAll('SIGKILL');
    await this.ended();
  }

  async signalAll(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    await run('sh', ['-c', SIGNAL_ALL, 'sh', String(this.child?.pid), signal.replace('SIG', '')]);
  }

  /** Stops it, copies its data, and starts it and the copy as its standby. */
  async startStandby(): Promise<PostgresServer> {
    await this.end('SIGINT');
    const { programs, settings, account } = this;
    const standby = new PostgresServer(await makeFolder(account), programs, settings, account, await freePort());
    await run('cp', ['-a', this.data, standby.data]);
    await writeFile(join(standby.data, 'standby.signal'), '');
    const source = `host=127.0.0.1 port=${this.port} user=postgres`;
    // One of its own may be in the copy: the last one counts.
    await appendFile(join(standby.data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    await Promise.all([this.start(), standby.start()]);
    return standby;
  }

  /** As the superuser, and not through the address that the service uses; bigint comes back as text. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]> {
    return query(this.url(), sql, parameters);
  }

  /** Sets a setting of the server without a restart. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** What it has logged: with `log_statement = 'all'` each statement, also those that other servers send. */
  log(): Promise<string> {
    return readFile(join(this.folder, 'log'), 'utf8');
  }

  private hasEnded(): boolean {
    return this.child?.exitCode !== null || this.child.signalCode !== null;
  }

  private async spawn(): Promise<void> {
    const own = { listen_addresses: '127.0.0.1', unix_socket_directories: this.folder, port: this.port };
    const args = Object.entries({ ...this.settings, ...own }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    await using log = await open(join(this.folder, 'log'), 'a', 0o600);
    this.child = spawn(join(this.programs, 'postgres'), ['-D', this.data, ...args], {
      ...this.account,
      cwd: this.folder,
      env: serverEnvironment(),
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(this.child, 'spawn');
  }
}

/** A new folder of the user that servers run as. */
async function makeFolder(account: Account): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-server-'));
  await giveTo(account, folder);
  return folder;
}
