import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { assertNoForeignTables } from './migrations/schema-check.js';
import { assertMigrated, type MigrationPlace } from './migrations/migration-status.js';
import { type Query, readMigrationStatus } from './migration-status.js';

/** Rejects with a MigrationError unless the schema has the tables that these migrations make, and no others. */
export async function assertTables(query: Query, place: MigrationPlace, migrations: MigrationList): Promise<void> {
  const known = migrations.migrationDirectories.map(({ path }) => path);
  const status = await readMigrationStatus(query, place.schema, known);
  await assertNoForeignTables(query, place);
  assertMigrated(status, place);
}
