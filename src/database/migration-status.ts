import pg from 'pg';

/** Names of migrations, oldest first; each stands in one list only. */
export interface MigrationStatus {
  /** Known to this build and applied. */
  readonly applied: readonly string[];
  /** Known to this build and not applied. */
  readonly pending: readonly string[];
  /** Applied, by a newer build for example, and not known to this one. */
  readonly unknown: readonly string[];
  /** Begun and not finished: it failed, or is being applied at this moment. */
  readonly failed: readonly string[];
}

const UNDEFINED_TABLE = '42P01';

/** Compares what the database has with what this build knows, by one query and without the schema engine. */
export async function readMigrationStatus(
  client: pg.ClientBase,
  schema: string,
  known: readonly string[],
): Promise<MigrationStatus> {
  const rows = await readRows(client, schema);
  const failed = rows.filter(({ finished }) => !finished).map(({ name }) => name);
  const applied = rows.map(({ name }) => name).filter((name) => !failed.includes(name));
  return {
    applied: known.filter((name) => applied.includes(name)),
    pending: known.filter((name) => !applied.includes(name) && !failed.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
    failed,
  };
}

async function readRows(client: pg.ClientBase, schema: string): Promise<{ name: string; finished: boolean }[]> {
  try {
    const result = await client.query<{ name: string; finished: boolean }>(
      `SELECT migration_name AS name, finished_at IS NOT NULL AS finished
       FROM ${pg.escapeIdentifier(schema)}._prisma_migrations
       WHERE rolled_back_at IS NULL
       ORDER BY started_at, migration_name`,
    );
    return result.rows;
  } catch (error) {
    // A database that was never migrated has no such table, and perhaps not even the schema.
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return [];
    throw error;
  }
}
