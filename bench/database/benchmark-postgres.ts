import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { EmbeddedPostgres } from '../../src/dev-postgres/embedded-postgres.js';
import type { ServerSettings } from '../../src/dev-postgres/server.js';
import { BenchmarkDatabase, type DatabaseOptions } from './benchmark-database.js';

const run = promisify(execFile);

/** The one setting that is not PostgreSQL's default: pgbench needs a connection for each of its clients, in addition to those of the servers. */
const MAX_CONNECTIONS = 500;

/** A PostgreSQL of the benchmark's own, gone with all of its data afterwards. */
export class BenchmarkPostgres implements AsyncDisposable {
  private readonly databases: BenchmarkDatabase[] = [];

  private constructor(
    private readonly directory: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  /** @param settings those that are not PostgreSQL's defaults */
  static async start(settings: ServerSettings = {}): Promise<BenchmarkPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(directory, 0o755);
    try {
      const draft = await EmbeddedPostgres.start({ directory });
      try {
        await withClient(draft.url, (client) => client.query(`ALTER SYSTEM SET max_connections = ${MAX_CONNECTIONS}`));
      } finally {
        await draft.stop();
      }
      return new BenchmarkPostgres(directory, await EmbeddedPostgres.start({ directory, settings }));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** A new database with the tables of a build, made by its own `migrate`. */
  async createDatabase(name: string, build: string, options?: DatabaseOptions): Promise<BenchmarkDatabase> {
    await withClient(this.postgres.url, (client) => client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`));
    const url = new URL(this.postgres.url);
    url.pathname = `/${name}`;
    await migrate(url.href, build);
    const database = await BenchmarkDatabase.open(url.href, options);
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

/** With the command of a build. */
export async function migrate(url: string, build: string): Promise<void> {
  const { PATH, HOME } = process.env;
  const command = [join(resolve(build), 'main.js'), 'migrate'];
  await run(process.execPath, command, { env: { PATH, HOME, DATABASE_URL: url } });
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
