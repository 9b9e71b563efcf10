import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Migrator } from '../../../dist/database/migrator.js';

const OWNER = fileURLToPath(new URL('../database/embedded-server.mjs', import.meta.url));
let cleanUp = dropDatabases;

/** Jest's globalSetup: one PostgreSQL for all suites, an embedded one unless TEST_DATABASE_URL names another. */
export default async function globalSetup() {
  // Begins the names of all databases of this run.
  const prefix = `plants_test_${randomBytes(4).toString('hex')}`;
  process.env.TEST_DATABASE_PREFIX = prefix;
  if (!process.env.TEST_DATABASE_URL) await startServer();
  // Migrated once, and copied for every test: a copy is many times faster.
  await query(`CREATE DATABASE ${prefix}_template`);
  const url = Object.assign(new URL(process.env.TEST_DATABASE_URL), { pathname: `${prefix}_template` });
  await new Migrator({ url: url.href }).migrate();
}

/** Jest's globalTeardown: leaves neither server nor folder nor database behind. */
export const globalTeardown = () => cleanUp();

// In a process of its own that waits for our end: an interrupted Jest runs no teardown.
async function startServer() {
  const directory = await mkdtemp(join(tmpdir(), 'plant-store-test-'));
  // Or root's server, which runs as another user, would have its data outside of it.
  await chmod(directory, 0o755);
  const stdio = ['pipe', 'pipe', 'inherit'];
  const owner = spawn(process.execPath, [OWNER, directory, '--remove'], { stdio, detached: true });
  const ended = once(owner, 'exit');
  const [line] = await Promise.race([once(owner.stdout.setEncoding('utf8'), 'data'), ended]);
  const { url, error } = typeof line === 'string' ? JSON.parse(line) : { error: `see above (exit code ${line})` };
  if (error) throw new Error(`The embedded PostgreSQL of the tests did not start: ${error}`);
  process.env.TEST_DATABASE_URL = url;
  // Dropping a database waits for a checkpoint: most of a second on a slow disk.
  for (const setting of ['fsync', 'full_page_writes']) await query(`ALTER SYSTEM SET ${setting} = off`);
  await query('SELECT pg_reload_conf()');
  cleanUp = async () => {
    // In watch mode a setup follows, which must not take this server for one of the user's.
    delete process.env.TEST_DATABASE_URL;
    owner.stdin.end();
    await ended;
  };
}

async function dropDatabases() {
  const ours = `SELECT datname FROM pg_database WHERE starts_with(datname, '${process.env.TEST_DATABASE_PREFIX}')`;
  for (const { datname } of await query(ours)) await query(`DROP DATABASE "${datname}" WITH (FORCE)`);
}

async function query(sql) {
  const client = new pg.Client(process.env.TEST_DATABASE_URL);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}
