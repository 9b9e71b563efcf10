import { setTimeout } from 'node:timers/promises';
import { readPassword } from './data-directory.js';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { PidFile } from './pid-file.js';
import { ServerHome } from './server-home.js';
import { isServerOf } from './server-process.js';
import { serverUrl } from './server-url.js';

/** As long as a server may take that is just being started, with its data to be made or repaired. */
const PATIENCE_MS = 20_000;

/** The URL of the embedded PostgreSQL that another process runs with the data in this folder. */
export async function runningServerUrl(directory: string): Promise<string> {
  const home = await ServerHome.find(directory);
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const state = await new PidFile(home.data).read();
    // The file of a server that is gone says that it is ready, too.
    if (state?.ready && state.port !== undefined && (await isServerOf(home.data, state.pid))) {
      const password = await readPassword(home);
      if (password !== undefined) return serverUrl(password, state.port);
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Another plant store is running with the data in ${directory}, but its PostgreSQL cannot be found. ` +
          'Try again when it listens, or stop it.',
      );
    }
    await setTimeout(50);
  }
}
