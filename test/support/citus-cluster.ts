import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { describe as Describe } from '@jest/globals';
import pg from 'pg';
import { ServerUser } from '../../src/dev-postgres/server-home.js';
import { freePort } from './free-port.js';
import { until } from './until.js';

const run = promisify(execFile);

/** Where Debian puts PostgreSQL, for the newest version that has Citus. */
const HOME = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}`)
  .find((path) => existsSync(`${path}/lib/citus.so`));
const MISSING = 'there is no PostgreSQL with Citus in /usr/lib/postgresql. Install both (docs/scaling.md).';

/** A suite that needs Citus: skipped, with one line on why, where there is none. */
export function describeWithCitus(name: string, suite: () => void): void {
  if (HOME === undefined) process.stderr.write(`Skipped "${name}": ${MISSING}\n`);
  // Not imported: the benchmark starts clusters too, and outside of Jest the import fails.
  const { describe } = globalThis as unknown as { describe: typeof Describe };
  (HOME === undefined ? describe.skip : describe)(name, suite);
}

/** A PostgreSQL server with Citus, which can be killed and started again. */
export class CitusNode {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly user: ServerUser,
    readonly port: number,
  ) {}

  static async create(user: ServerUser, home: string, hasCitus = true): Promise<CitusNode> {
    const folder = await user.makeFolder(home, 'node-');
    const data = join(folder, 'data');
    const options = { ...user.ids, cwd: folder };
    await run(`${HOME}/bin/initdb`, ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'], options);
    const port = await freePort();
    const settings = {
      shared_preload_libraries: hasCitus ? 'citus' : '',
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      max_prepared_transactions: 200,
      // For a move of shards.
      wal_level: 'logical',
      // The log shows what a node was asked for.
      log_line_prefix: '%a ',
      'citus.enable_statistics_collection': 'off',
      'citus.node_conninfo': 'sslmode=disable',
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    await appendFile(join(data, 'postgresql.conf'), lines.join(''));
    const node = new CitusNode(folder, user, port);
    await node.start();
    await node.query('CREATE DATABASE plants', 'postgres');
    if (hasCitus) await node.query('CREATE EXTENSION citus');
    return node;
  }

  /** Of the superuser, who needs no password. */
  get url(): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/plants`;
  }

  /** Resolves when it takes connections. */
  async start(): Promise<void> {
    await until(async () => {
      // Processes of a killed server may need a moment to end, and a new one does not start before.
      if (this.child?.exitCode !== null || this.child.signalCode !== null) await this.spawn();
      return this.query('SELECT', 'postgres').then(
        () => true,
        () => false,
      );
    });
  }

  /** kill -9 of all of its processes. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    // So that it starts no others meanwhile.
    child.kill('SIGSTOP');
    await this.signalAll('SIGKILL');
    await ended;
  }

  /** `SIGSTOP`, `SIGCONT` or `SIGKILL` to all of its processes. */
  async signalAll(signal: NodeJS.Signals): Promise<void> {
    const pid = this.child?.pid ?? 0;
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({ stdout: '' }));
    for (const each of [...stdout.split('\n').map(Number), pid]) {
      try {
        if (each > 0) process.kill(each, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** As the superuser; bigint comes back as text. */
  async query<Row = Record<string, unknown>>(sql: string, database = 'plants'): Promise<Row[]> {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: 'postgres', database });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const result: unknown = await client.query(sql);
      return (result as { rows: Row[] }).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Sets a setting of the server without a restart. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** What it has logged: with `log_statement = 'all'` each statement, also those that other nodes send. */
  log(): Promise<string> {
    return readFile(join(this.folder, 'log'), 'utf8');
  }

  private async spawn(): Promise<void> {
    const log = await open(join(this.folder, 'log'), 'a', 0o600);
    try {
      this.child = spawn(`${HOME}/bin/postgres`, ['-D', join(this.folder, 'data')], {
        ...this.user.ids,
        cwd: this.folder,
        // Not root's home, where libpq would look for certificates and may not.
        env: {},
        stdio: ['ignore', log.fd, log.fd],
      });
      await once(this.child, 'spawn');
    } finally {
      await log.close();
    }
  }
}

/** A coordinator and workers, each a server of its own on this machine. Nothing is migrated or distributed yet. */
export class CitusCluster implements AsyncDisposable {
  private constructor(
    private readonly folder: string,
    readonly coordinator: CitusNode,
    readonly workers: readonly CitusNode[],
  ) {}

  /** @param workerCount 0: one PostgreSQL without Citus, to compare with */
  static async start(workerCount = 2): Promise<CitusCluster> {
    if (HOME === undefined) throw new Error(MISSING);
    const user = process.getuid?.() === 0 ? await ServerUser.inPlaceOfRoot() : ServerUser.ourselves;
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-citus-'));
    // The servers run as another user than root.
    await chmod(folder, 0o711);
    const nodes = Array.from({ length: workerCount + 1 }, () => CitusNode.create(user, folder, workerCount > 0));
    const [coordinator, ...workers] = (await Promise.all(nodes)) as [CitusNode, ...CitusNode[]];
    if (workerCount > 0) await coordinator.query(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of workers) await coordinator.query(`SELECT citus_add_node('127.0.0.1', ${port})`);
    return new CitusCluster(folder, coordinator, workers);
  }

  get nodes(): readonly CitusNode[] {
    return [this.coordinator, ...this.workers];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
