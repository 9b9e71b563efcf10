import type { DatabaseOptions } from './database-options.js';
import type { Database } from './database.js';
import { readMigrations } from './migration-files.js';
import { MIGRATIONS_FOLDER } from '../util/package-files.js';
import type { MigrationPlace } from './migrations/migration-status.js';
import { MigrationError } from './migration.error.js';
import { Migrator } from './migrations/migrator.js';
import { reasonOf } from '../util/text.js';
import { assertTables } from './tables-check.js';

/** Rejects with a MigrationError unless the database can be reached and has the tables that this build needs. */
export async function assertDatabaseReady(
  database: Database,
  { url, password, schema }: DatabaseOptions,
): Promise<void> {
  // On a connection of its own, which does not outlast the start.
  if (url !== undefined) return new Migrator({ url, password, schema }).assertCurrent();
  const migrations = await readMigrations(MIGRATIONS_FOLDER);
  const { schema: own, query } = database;
  const place = { schema: own, place: `schema ${own} of database ${await nameOf(database)}` };
  await refusable(assertTables(query, place, migrations), place);
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

async function refusable(work: Promise<void>, { place }: MigrationPlace): Promise<void> {
  try {
    await work;
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
