import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';

/** A PostgreSQL of the benchmark's own, with its default settings; gone with all of its data afterwards. */
export class BenchmarkPostgres implements AsyncDisposable {
  private databases = 0;

  private constructor(
    private readonly directory: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  static async start(): Promise<BenchmarkPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(directory, 0o755);
    return new BenchmarkPostgres(directory, await EmbeddedPostgres.start(directory));
  }

  /** Of the process whose children serve the connections. */
  get pid(): number {
    return parseInt(readFileSync(join(this.postgres.location, 'postmaster.pid'), 'utf8'), 10);
  }

  /** A new database with the tables of a build, made by its own `migrate`. */
  async createDatabase(build: string): Promise<string> {
    const url = new URL(this.postgres.url);
    const name = `target_${++this.databases}`;
    await query(url.href, `CREATE DATABASE ${name}`);
    url.pathname = `/${name}`;
    const { PATH, HOME } = process.env;
    const command = [join(build, 'cli.js'), 'migrate'];
    await promisify(execFile)(process.execPath, command, { env: { PATH, HOME, DATABASE_URL: url.href } });
    return url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.postgres.stop();
    await rm(dirname(this.postgres.location), { recursive: true, force: true });
    await rm(this.directory, { recursive: true, force: true });
  }
}

export async function countPlantsFrom(databaseUrl: string, id: number): Promise<number> {
  const rows = await query(databaseUrl, 'SELECT count(*)::integer AS count FROM plants WHERE id >= $1', [id]);
  return Number(rows[0]?.count);
}

/** On a connection of its own: between the turns no session is there that the targets do not have. */
async function query(url: string, sql: string, parameters: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, parameters)).rows;
  } finally {
    await client.end();
  }
}
