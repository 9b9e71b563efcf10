import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { EmbeddedPostgres } from '../src/service/embedded-postgres/embedded-postgres.js';
import { IDS_OF_A_RUN } from './load.js';
import { ProcessTree } from './process-tree.js';

const run = promisify(execFile);

/** The one setting that is not PostgreSQL's default: pgbench needs a connection for each of its clients, in addition to those of the servers. */
const SETTINGS = { max_connections: 500 };

/** A PostgreSQL of the benchmark's own, gone with all of its data afterwards. */
export class BenchmarkPostgres implements AsyncDisposable {
  private readonly databases: BenchmarkDatabase[] = [];

  private constructor(
    private readonly directory: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  static async start(): Promise<BenchmarkPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(directory, 0o755);
    try {
      return new BenchmarkPostgres(directory, await EmbeddedPostgres.start(directory, SETTINGS));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** A new database with the tables of a build, made by its own `migrate`. */
  async createDatabase(name: string, build: string): Promise<BenchmarkDatabase> {
    const client = new pg.Client(this.postgres.url);
    await client.connect();
    await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`).finally(() => client.end());
    const url = new URL(this.postgres.url);
    url.pathname = `/${name}`;
    const { PATH, HOME } = process.env;
    const command = [join(resolve(build), 'main.js'), 'migrate'];
    await run(process.execPath, command, { env: { PATH, HOME, DATABASE_URL: url.href } });
    const database = await BenchmarkDatabase.open(url.href);
    this.databases.push(database);
    return database;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const database of this.databases) await database[Symbol.asyncDispose]();
    await this.postgres.stop();
    await rm(dirname(this.postgres.location), { recursive: true, force: true });
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** What has been done so far. The count of transactions is of the whole server. */
interface Progress {
  readonly plants: number;
  readonly commits: number;
}

/** The database of one target, seen by a connection that is idle while it is measured. */
export class BenchmarkDatabase implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly client: pg.Client,
    /** PostgreSQL with all of its processes; empty if there is no /proc. */
    readonly processes: ProcessTree,
  ) {}

  static async open(url: string): Promise<BenchmarkDatabase> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new BenchmarkDatabase(url, client, new ProcessTree(parentOf(rows[0]?.pid ?? 0)));
  }

  /** As new. With a checkpoint, so that what one round has written costs the next one nothing. */
  async empty(): Promise<void> {
    await this.client.query('TRUNCATE plants');
    await this.client.query('CHECKPOINT');
  }

  /**
   * How many plants a run has stored, and how many transactions have written something since the server was made. Those have numbers,
   * given out one by one and known at once, while the counters of pg_stat_database arrive up to ten seconds late; transactions that only
   * read have none.
   */
  async progress(firstId: number): Promise<Progress> {
    const { rows } = await this.client.query<{ plants: number; commits: string }>(
      `SELECT (SELECT count(*)::integer FROM plants WHERE id >= $1 AND id < $2) AS plants,
         pg_snapshot_xmax(pg_current_snapshot())::text AS commits`,
      [firstId, firstId + IDS_OF_A_RUN],
    );
    const { plants = 0, commits } = rows[0] ?? {};
    return { plants, commits: Number(commits) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
  }
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
