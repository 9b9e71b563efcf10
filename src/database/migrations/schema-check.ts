import {
  assertMigrated,
  type MigrationPlace,
  OWN_SCHEMA_ADVICE,
  type Query,
  readMigrationStatus,
  MigrationError,
} from './migration-status.js';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';

const SHOWN = 3;

/**
 * Throws where a schema has tables and no history of migrations, as that of an application without Prisma Migrate has:
 * the schema engine would refuse it, with advice for the owner of those tables. Those of extensions count for nothing.
 */
export async function assertNoForeignTables(query: Query, { schema, place }: MigrationPlace): Promise<void> {
  const rows = await query<{ name: string }>(
    `SELECT relname::text AS name
     FROM pg_class
     JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relkind = 'r' AND NOT EXISTS (
       SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
     ORDER BY relname`,
    [schema],
  );
  const names = rows.map(({ name }) => name);
  if (names.length === 0 || names.includes('_prisma_migrations')) return;
  const shown = [...names.slice(0, SHOWN), ...(names.length > SHOWN ? ['…'] : [])].join(', ');
  throw new MigrationError('foreign', `${place} holds tables of another application: ${shown}. ${OWN_SCHEMA_ADVICE}`);
}

/** Rejects with a MigrationError unless the schema has the tables that these migrations make, and no others. */
export async function assertTables(query: Query, place: MigrationPlace, migrations: MigrationList): Promise<void> {
  const known = migrations.migrationDirectories.map(({ path }) => path);
  const status = await readMigrationStatus(query, place.schema, known);
  await assertNoForeignTables(query, place);
  assertMigrated(status, place);
}
