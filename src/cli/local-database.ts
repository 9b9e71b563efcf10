import { EmbeddedPostgres } from '../dev-postgres/embedded-postgres.js';
import { Migrator } from '../database/migrations/migrator.js';

/** A PostgreSQL of this process's own, with the tables of this build. */
export async function startLocalDatabase(
  directory: string,
  log: (line: string) => void = console.log,
): Promise<EmbeddedPostgres> {
  const postgres = await EmbeddedPostgres.start({ directory, log });
  try {
    await new Migrator({ url: postgres.url }).migrate();
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
