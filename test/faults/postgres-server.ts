import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findPostgresPackage, PostgresBinaries } from '../../src/dev-postgres/binaries.js';
import { initdb } from '../../src/dev-postgres/data-directory.js';
import { ServerUser } from '../../src/dev-postgres/server-home.js';
import { serverEnvironment } from '../../src/dev-postgres/server.js';
import { freePort } from '../support/free-port.js';

const run = promisify(execFile);

const PASSWORD = 'faults';
const START_TIMEOUT_MS = 60_000;
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  full_page_writes: 'on',
  max_connections: 60,
  // The disk of the WAL that is to become full is small.
  min_wal_size: '32MB',
  max_wal_size: '64MB',
  wal_keep_size: '32MB',
  wal_retrieve_retry_interval: '100ms',
};

/** A PostgreSQL server that waits for its disk, and whose processes can be killed, stopped, copied and started again. */
export class PostgresServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly binaries: PostgresBinaries,
    readonly user: ServerUser,
    private readonly port: number,
  ) {}

  /** In a folder of its own in `home`. */
  static async create(home = tmpdir()): Promise<PostgresServer> {
    const user = process.getuid?.() === 0 ? await ServerUser.inPlaceOfRoot() : ServerUser.ourselves;
    const folder = await user.makeFolder(home, 'server-');
    const binaries = await PostgresBinaries.prepare(await findPostgresPackage(), user, folder);
    await initdb(folder, binaries, user, PASSWORD);
    return new PostgresServer(folder, binaries, user, await freePort());
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  url(user = 'postgres', database = 'plants'): string {
    return `postgresql://${user}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
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
      if (performance.now() > deadline) throw new Error(`PostgreSQL did not start:\n${await this.logEnd()}`);
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

  /** A stopped server's data, as a standby of it, at the port of a server that is gone if one is given; both have to be started. */
  async copyAsStandby(inPlaceOf?: PostgresServer): Promise<PostgresServer> {
    const folder = await this.user.makeFolder(dirname(this.folder), 'server-');
    const standby = new PostgresServer(folder, this.binaries, this.user, inPlaceOf?.port ?? (await freePort()));
    await cp(this.data, standby.data, { recursive: true, verbatimSymlinks: true });
    await writeFile(join(standby.data, 'standby.signal'), '');
    const source = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD}`;
    // One of its own may be in the copy: the last one counts.
    await appendFile(join(standby.data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    const { uid, gid } = this.user.ids ?? {};
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid ?? uid}`, folder]);
    return standby;
  }

  /** As the superuser, and not through the address that the service uses. */
  async query<Row extends pg.QueryResultRow>(sql: string, database?: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url('postgres', database) });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  async logEnd(): Promise<string> {
    const log = await readFile(join(this.folder, 'log'), 'utf8').catch(() => '');
    return log.split('\n').slice(-15).join('\n');
  }

  private hasEnded(): boolean {
    return this.child?.exitCode !== null || this.child.signalCode !== null;
  }

  private async spawn(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, port: this.port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const log = await open(join(this.folder, 'log'), 'a', 0o600);
    try {
      this.child = spawn(this.binaries.postgres, ['-D', this.data, ...settings], {
        ...this.user.ids,
        cwd: this.folder,
        env: serverEnvironment(),
        stdio: ['ignore', log.fd, log.fd],
        // Not in the terminal's process group: at Ctrl-C the harness ends it.
        detached: true,
      });
      await once(this.child, 'spawn');
    } finally {
      await log.close();
    }
  }
}
