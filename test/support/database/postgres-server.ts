import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { Migrator } from '../../../src/database/migrator.js';
import { findPostgresPackage, PostgresBinaries, type PostgresPackage } from '../../../src/dev-postgres/binaries.js';
import { initdb } from '../../../src/dev-postgres/data-directory.js';
import { ServerUser } from '../../../src/dev-postgres/server-home.js';
import { serverEnvironment, spawnProgram } from '../../../src/dev-postgres/server.js';
import { freePort } from '../http/free-port.js';

const run = promisify(execFile);

export const SERVER_PASSWORD = 'faults';
const START_TIMEOUT_MS = 60_000;
const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  max_connections: 60,
  // The disk of the WAL that is to become full is small.
  min_wal_size: '32MB',
  max_wal_size: '64MB',
  wal_keep_size: '32MB',
  wal_retrieve_retry_interval: '100ms',
};

interface Installation {
  /** The executable. */
  readonly postgres: string;
  readonly user: ServerUser;
  readonly settings: Readonly<Record<string, string | number>>;
  /** Not in the terminal's process group: at Ctrl-C something else ends it. */
  readonly detached: boolean;
}

/** The user that servers run as: PostgreSQL refuses to run as root. */
export async function serverUser(): Promise<ServerUser> {
  return process.getuid?.() === 0 ? ServerUser.inPlaceOfRoot() : ServerUser.ourselves;
}

/** As `initdb` does it, without the options that PostgreSQL has from 17 on. */
async function initdbOfAnyMajor(
  folder: string,
  binaries: PostgresBinaries,
  user: ServerUser,
  password: string,
): Promise<void> {
  const [passwordFile, output] = [join(folder, 'password'), join(folder, 'output')];
  await writeFile(passwordFile, password, { mode: 0o600 });
  await user.own(passwordFile);
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const args = [`--pgdata=${join(folder, 'data')}`, '--encoding=UTF8', '--locale=C', ...access];
  const [code] = (await once(spawnProgram(binaries.initdb, args, user, folder, output), 'exit')) as [number | null];
  if (code !== 0) throw new Error(`initdb failed with code ${String(code)}:\n${await readFile(output, 'utf8')}`);
}

/** A PostgreSQL server that waits for its disk, and whose processes can be killed, stopped, copied and started again. */
export class PostgresServer {
  private child: ChildProcess | undefined;

  constructor(
    readonly folder: string,
    private readonly installation: Installation,
    readonly port: number,
  ) {}

  /** Of the embedded PostgreSQL or of this package, in a folder of its own in `home`. */
  static async create(home = tmpdir(), given?: PostgresPackage): Promise<PostgresServer> {
    const user = await serverUser();
    const folder = await user.makeFolder(home, 'server-');
    const source = given ?? (await findPostgresPackage());
    // What had to be copied of a package that is only for a test is removed with the server.
    const binaries = await PostgresBinaries.prepare(source, user, folder, given && folder);
    await (given ? initdbOfAnyMajor : initdb)(folder, binaries, user, SERVER_PASSWORD);
    const installation = { postgres: binaries.postgres, user, settings: SETTINGS, detached: true };
    return new PostgresServer(folder, installation, await freePort());
  }

  /** Started, with the tables of the store in the database `plants`. In suites only: the build of the faults holds no migrations. */
  static async createMigrated(): Promise<PostgresServer> {
    const server = await PostgresServer.create();
    await server.start();
    await server.query('CREATE DATABASE plants', 'postgres');
    await new Migrator({ url: server.url() }).migrate();
    return server;
  }

  /** A server that something else has started, with the same password. */
  elsewhere(folder: string, port: number): PostgresServer {
    return new PostgresServer(folder, this.installation, port);
  }

  get user(): ServerUser {
    return this.installation.user;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  url(user = 'postgres', database = 'plants'): string {
    return `postgresql://${user}:${SERVER_PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** Resolves when it takes connections. */
  async start(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      // Processes of a killed server may need a moment to end, and a new one does not start before.
      if (this.hasEnded()) await this.spawn();
      const isReady = await this.query('SELECT', 'postgres').then(
        () => true,
        () => false,
      );
      if (isReady) return;
      if (performance.now() > deadline) {
        const logEnd = (await this.log().catch(() => '')).split('\n').slice(-15);
        throw new Error(`PostgreSQL did not start:\n${logEnd.join('\n')}`);
      }
      await sleep(10);
    }
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
    if (this.hasEnded()) return;
    await this.signalAll('SIGKILL');
    await this.ended();
  }

  /** `SIGSTOP`, `SIGCONT` or `SIGKILL` to all of its processes. */
  async signalAll(signal: NodeJS.Signals): Promise<void> {
    const pid = this.child?.pid ?? 0;
    // So that it starts no others meanwhile.
    process.kill(pid, 'SIGSTOP');
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({ stdout: '' }));
    const children = stdout.split('\n').map(Number);
    for (const each of [...children, pid]) {
      try {
        if (each > 0) process.kill(each, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** Stops it, copies its data, and starts it and the copy as its standby. */
  async startStandby(): Promise<PostgresServer> {
    await this.end('SIGINT');
    const folder = await this.user.makeFolder(dirname(this.folder), 'server-');
    const standby = new PostgresServer(folder, this.installation, await freePort());
    await cp(this.data, standby.data, { recursive: true, verbatimSymlinks: true });
    await writeFile(join(standby.data, 'standby.signal'), '');
    const source = `host=127.0.0.1 port=${this.port} user=postgres password=${SERVER_PASSWORD}`;
    // One of its own may be in the copy: the last one counts.
    await appendFile(join(standby.data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    const { uid, gid } = this.user.ids ?? {};
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid ?? uid}`, folder]);
    await Promise.all([this.start(), standby.start()]);
    return standby;
  }

  /** As the superuser, and not through the address that the service uses; bigint comes back as text. */
  async query<Row = Record<string, unknown>>(sql: string, database?: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url('postgres', database) });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(sql)).rows as Row[];
    } finally {
      await client.end().catch(() => undefined);
    }
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
    const { postgres, user, detached } = this.installation;
    const own = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: this.port };
    const settings = Object.entries({ ...this.installation.settings, ...own });
    const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = await open(join(this.folder, 'log'), 'a', 0o600);
    try {
      this.child = spawn(postgres, ['-D', this.data, ...args], {
        ...user.ids,
        cwd: this.folder,
        env: serverEnvironment(),
        stdio: ['ignore', log.fd, log.fd],
        detached,
      });
      await once(this.child, 'spawn');
    } finally {
      await log.close();
    }
  }
}
