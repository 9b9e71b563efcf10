import { stat } from 'node:fs/promises';
import { ConfigurationError } from '../../app/config-error.js';
import { FolderInUseError } from '../../dev-postgres/errors.js';
import { runningServerUrl } from '../../dev-postgres/embedded-postgres.js';
import { startLocalDatabase } from '../local-database.js';

/** A database that is there for as long as it is used. */
export interface UsableDatabase {
  readonly url: string;
  stop: () => Promise<void>;
}

/** The embedded PostgreSQL of `plant-store serve`: the running one or, where none runs, one of this process's own. */
export async function useLocalDatabase(directory: string): Promise<UsableDatabase> {
  if (!(await exists(directory))) {
    throw new ConfigurationError([
      `DATABASE_URL: is missing, should be the URL of the PostgreSQL database of the service; ` +
        `there is no embedded one here either: nothing was ever started in this folder (no ${directory})`,
    ]);
  }
  try {
    // Standard output is for what the command prints.
    const postgres = await startLocalDatabase(directory, console.error);
    return { url: postgres.url, stop: () => postgres.stop() };
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return { url: await runningServerUrl(directory), stop: () => Promise.resolve() };
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
