import { Logger } from '@nestjs/common';
import type pg from 'pg';
import type { DatabaseUrl } from '../database-url.js';
import type { Query } from '../database.js';
import { PLANTS_RIGHTS } from '../rights.js';
import { inspectTables } from '../table-checks.js';
import { sharesSessions } from './connection.js';
import { assertMigrated, type Migration, MigrationError } from './migration-status.js';

// Not in the file of the Migrator: its declarations would ask the hosts of the store for the types of pg.

/** Limit of the search for a pooler: a start does not wait for one that is busy. */
const POOLER_TIMEOUT_MS = 1000;
export const POOLED = 'is reached through a pooler that gives each transaction another session';

/** What a store asks of its own database. Rejects with all that keeps creates from it, and warns of what may make them fail. */
export async function inspectStore(
  query: Query,
  database: DatabaseUrl,
  client: pg.Client,
  rights = PLANTS_RIGHTS,
  migrations?: readonly Migration[],
): Promise<void> {
  await runAll(
    () => assertMigrated(query, database, rights, migrations),
    () => inspectTables(query, database),
    () => warnOfPooler(database, client),
  );
}

/** Runs checks, also after one that has found a fault, and rejects with all faults. */
export async function runAll(...checks: (() => Promise<void>)[]): Promise<void> {
  const faults: MigrationError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      // On a connection that is broken the others find nothing.
      if (!(error instanceof MigrationError)) throw error;
      faults.push(error);
    }
  }
  const [first] = faults;
  if (first === undefined) return;
  if (faults.length === 1) throw first;
  const join = (textOf: (fault: MigrationError) => string): string => faults.map(textOf).join('\n');
  throw new MigrationError(
    first.code,
    join(({ message }) => message),
    { forOperators: join(({ message, forOperators = message }) => forOperators) },
  );
}

async function warnOfPooler(database: DatabaseUrl, client: pg.Client): Promise<void> {
  if (database.isPooled) return;
  const limits = { signal: AbortSignal.timeout(POOLER_TIMEOUT_MS) };
  // It helps, but the start does not depend on it.
  if (!(await sharesSessions(database, client, limits).catch(() => false))) return;
  const found = `Database ${database.description} ${POOLED}, and its URL does not say so: creates may fail`;
  const advice = 'Add the parameter pgbouncer=true to DATABASE_URL (postgresql://…/plants?pgbouncer=true)';
  new Logger('Migrator').warn(`${found}. ${advice}`);
}
