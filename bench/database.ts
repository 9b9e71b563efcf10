import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';
import { freePort } from '../test/support/http/free-port.js';
import { compileSlowFdatasync, type Delay, startSlowNetwork } from './delay.js';
import { query, startPostgres, stopPostgres } from './postgres.js';

const run = promisify(execFile);

/** Several targets have ten connections each. All else is PostgreSQL's default. */
const SETTINGS = { max_connections: 300 };
const COMMITS = 500;

/** The PostgreSQL of the benchmark, with what makes it slower; gone with all of its data afterwards. */
export class BenchmarkPostgres implements AsyncDisposable {
  /** Of the process whose children serve the connections. */
  pid = 0;
  private url!: URL;
  /** Where services find the server. */
  private servicePort!: string;
  private databases = 0;
  private readonly cleanups: (() => Promise<unknown>)[] = [];

  static async start(delay?: Delay): Promise<BenchmarkPostgres> {
    const postgres = new BenchmarkPostgres();
    try {
      await postgres.startServers(delay);
      return postgres;
    } catch (error) {
      await postgres[Symbol.asyncDispose]();
      throw error;
    }
  }

  async version(): Promise<string> {
    const [row] = await query(this.url.href, 'SHOW server_version');
    return String(row?.server_version);
  }

  /** A new database with the tables of a build, made by its own `migrate`. */
  async createDatabase(build: string): Promise<string> {
    const url = await this.createEmptyDatabase();
    const { PATH, HOME } = process.env;
    await run(process.execPath, [join(build, 'cli.js'), 'migrate'], { env: { PATH, HOME, DATABASE_URL: url } });
    return url;
  }

  /** Milliseconds, the median of some that follow each other. The network is not in it. */
  async commitTime(): Promise<number> {
    const url = await this.createEmptyDatabase();
    await query(url, 'CREATE TABLE commits (at timestamptz)');
    const insert = 'INSERT INTO commits VALUES (clock_timestamp()); COMMIT;';
    await query(url, `DO $$ BEGIN FOR i IN 1..${COMMITS} LOOP ${insert} END LOOP; END $$`);
    const times = 'SELECT extract(epoch FROM at - lag(at) OVER (ORDER BY at)) * 1000 AS time FROM commits';
    const median = 'percentile_cont(0.5) WITHIN GROUP (ORDER BY time)';
    const [row] = await query(url, `SELECT ${median} AS median FROM (${times}) AS times`);
    return Number(row?.median);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.cleanups.toReversed()) await cleanup();
  }

  private async createEmptyDatabase(): Promise<string> {
    const name = `target_${++this.databases}`;
    await query(this.url.href, `CREATE DATABASE ${name}`);
    return Object.assign(new URL(this.url), { pathname: `/${name}`, port: this.servicePort }).href;
  }

  private async startServers(delay: Delay | undefined): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
    this.cleanups.push(() => rm(directory, { recursive: true, force: true }));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(directory, 0o755);
    const embedded = await EmbeddedPostgres.start(directory);
    const data = embedded.location;
    const home = dirname(data);
    this.cleanups.push(() => rm(home, { recursive: true, force: true }));
    // Only its data and its program are used: it takes no other environment.
    const path = await programOn(data).finally(() => embedded.stop());
    const isSlow = delay?.kind === 'fsync';
    const environment = isSlow ? { LD_PRELOAD: await compileSlowFdatasync(home, delay.milliseconds) } : {};
    const program = { path, environment };

    this.url = new URL(embedded.url);
    this.url.port = this.servicePort = String(await freePort());
    const server = await startPostgres(program, data, this.url, SETTINGS);
    this.pid = server.pid ?? 0;
    this.cleanups.push(() => stopPostgres(server));
    if (delay?.kind === 'network') {
      const network = await startSlowNetwork(home, this.url.port, delay.milliseconds);
      this.servicePort = String(network.port);
      this.cleanups.push(network.stop);
    }
  }
}

/** PostgreSQL writes down how it was started: the program, and each argument in quotation marks. */
async function programOn(data: string): Promise<string> {
  const [program = ''] = (await readFile(join(data, 'postmaster.opts'), 'utf8')).split(' "');
  return program;
}
