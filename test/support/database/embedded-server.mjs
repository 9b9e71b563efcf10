import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';

// node embedded-server.mjs FOLDER [--remove]
// Runs an embedded PostgreSQL until its standard input closes, as it does too when the process that started it is
// killed. Prints one line of JSON: what it runs, or why it does not. With --remove, nothing of the folder is left.
const [, , directory, remove] = process.argv;
let server;
try {
  server = await EmbeddedPostgres.start(directory);
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
