import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConfigurationError } from '../app/config-error.js';
import type { EmbeddedPostgres } from '../dev-postgres/embedded-postgres.js';
import { FolderInUseError } from '../dev-postgres/errors.js';
import { withProgress } from './first-contact.js';

/** The folder of what the service makes for itself: the data of the embedded PostgreSQL and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');

/** Starts an embedded PostgreSQL of this process, with the tables of this build, and shows on a terminal that it does. */
export function startLocalDatabase(): Promise<EmbeddedPostgres> {
  return withProgress('Starting a PostgreSQL of its own …', startDatabase);
}

async function startDatabase(log: (line: string) => void): Promise<EmbeddedPostgres> {
  // Loaded only here: an installation for production has no embedded server.
  const { EmbeddedPostgres } = await import('../dev-postgres/embedded-postgres.js');
  const { Migrator } = await import('../database/migrations/migrator.js');
  const postgres = await EmbeddedPostgres.start({ directory: LOCAL_DIRECTORY, log });
  try {
    await new Migrator({ url: postgres.url }).migrate();
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** The embedded PostgreSQL of `plant-store serve`: the running one or, if none runs, one of this process. */
export async function useLocalDatabase(): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  if (!existsSync(LOCAL_DIRECTORY)) {
    throw new ConfigurationError([
      `DATABASE_URL: is missing, should be the URL of the PostgreSQL database of the service; ` +
        `there is no embedded one here either: nothing was ever started in this folder (no ${LOCAL_DIRECTORY})`,
    ]);
  }
  try {
    // Standard output is for what the command prints.
    return await startDatabase(console.error);
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    const { runningServerUrl } = await import('../dev-postgres/embedded-postgres.js');
    return { url: await runningServerUrl(LOCAL_DIRECTORY), stop: () => Promise.resolve() };
  }
}

/** The access token in the local folder, made at the first start. */
export async function localToken(): Promise<string> {
  const file = join(LOCAL_DIRECTORY, 'access-token');
  const stored = existsSync(file) ? (await readFile(file, 'utf8')).trim() : '';
  return stored || makeToken(file);
}

async function makeToken(file: string): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await mkdir(LOCAL_DIRECTORY, { recursive: true });
  // Renamed when it is complete: a crash in between must not leave an empty token.
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${token}\n`, { mode: 0o600, flush: true });
  await rename(draft, file);
  return token;
}
