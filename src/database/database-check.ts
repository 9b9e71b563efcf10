import type { DatabaseOptions } from './database-options.js';
import type { Database } from './database.js';
import { assertNoForeignTables } from './foreign-tables.js';
import { MIGRATIONS_FOLDER, readMigrations } from './migration-files.js';
import { assertMigrated, type MigrationPlace } from './migration-history.js';
import { readMigrationStatus } from './migration-status.js';
import { MigrationError } from './migration.error.js';
import { Migrator } from './migrator.js';
import { reasonOf } from './reason-of.js';

/** Rejects with a MigrationError unless the database can be reached and has the tables that this build needs. */
export async function assertDatabaseReady(
  database: Database,
  { url, password, schema }: DatabaseOptions,
): Promise<void> {
  // On a connection of its own, which does not outlast the start.
  if (url !== undefined) return new Migrator({ url, password, schema }).assertCurrent();
  const { migrationDirectories } = await readMigrations(MIGRATIONS_FOLDER);
  const known = migrationDirectories.map(({ path }) => path);
  const { schema: own, query } = database;
  const place = { schema: own, place: `schema ${own} of database ${await nameOf(database)}` };
  const status = await refusable(readMigrationStatus(query, own, known), place);
  await refusable(assertNoForeignTables(query, place), place);
  assertMigrated(status, place);
}

async function nameOf({ query }: Database): Promise<string> {
  try {
    const [row] = await query<{ name: string }>('SELECT current_database()::text AS name');
    return row?.name ?? '';
  } catch (cause) {
    const message = `cannot connect to the database that PlantsModule was lent: ${rootReason(cause)}`;
    throw new MigrationError('unreachable', message, { cause });
  }
}

async function refusable<T>(work: Promise<T>, { place }: MigrationPlace): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof MigrationError) throw cause;
    throw new MigrationError('refused', `${place}: ${rootReason(cause)}`, { cause });
  }
}

/** What the server or the network said, below the errors of ours and of Prisma. */
function rootReason(error: unknown): string {
  const { cause } = Object(error) as { cause?: { originalMessage?: string } };
  if (cause?.originalMessage !== undefined) return reasonOf(new Error(cause.originalMessage));
  return cause instanceof Error ? rootReason(cause) : reasonOf(error);
}
