import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';

// node embedded-server.mjs FOLDER [--remove]
// Runs an embedded PostgreSQL until its standard input closes, as it does too when the process that started it is killed.
// Prints one line of JSON: either what it runs, or why it does not. With --remove, it does not wait for the disk, and leaves
// nothing of the folder.
const [, , directory, remove] = process.argv;
let server;
try {
  server = await EmbeddedPostgres.start(directory);
  if (remove) await doNotWaitForDisk(server.url);
  const end = once(process.stdin.resume(), 'close');
  process.stdout.write(`${JSON.stringify({ url: server.url, location: server.location })}\n`);
  await end;
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: `${error.name}: ${error.message}` })}\n`);
} finally {
  await server?.stop();
  if (remove) {
    if (server) await rm(dirname(server.location), { recursive: true, force: true });
    await rm(directory, { recursive: true, force: true });
  }
}

/** Dropping a database waits for a checkpoint: most of a second on a slow disk. */
async function doNotWaitForDisk(url) {
  const client = new pg.Client(url);
  await client.connect();
  for (const setting of ['fsync', 'full_page_writes']) await client.query(`ALTER SYSTEM SET ${setting} = off`);
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}
