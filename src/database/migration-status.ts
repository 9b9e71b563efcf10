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

/** A parameter of a statement: a text, a list of texts, or nothing. */
export type QueryValue = string | null | (string | null)[];

/** Runs one statement, by whichever connection there is. */
export type Query = <Row>(sql: string, values?: QueryValue[]) => Promise<Row[]>;

interface Migration {
  name: string;
  finished: boolean;
}

/** Compares what the database has with what this build knows, without the schema engine. */
export async function readMigrationStatus(
  query: Query,
  schema: string,
  known: readonly string[],
): Promise<MigrationStatus> {
  const rows = await readRows(query, schema);
  const failed = rows.filter(({ finished }) => !finished).map(({ name }) => name);
  const applied = rows.map(({ name }) => name).filter((name) => !failed.includes(name));
  return {
    applied: known.filter((name) => applied.includes(name)),
    pending: known.filter((name) => !applied.includes(name) && !failed.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
    failed,
  };
}

async function readRows(query: Query, schema: string): Promise<Migration[]> {
  const table = `${pg.escapeIdentifier(schema)}._prisma_migrations`;
  // A database that was never migrated has no such table, and perhaps not even the schema.
  const [found] = await query<{ oid: unknown }>('SELECT to_regclass($1)::text AS oid', [table]);
  if (found?.oid == null) return [];
  return query<Migration>(
    `SELECT migration_name AS name, finished_at IS NOT NULL AS finished
     FROM ${table}
     WHERE rolled_back_at IS NULL
     ORDER BY started_at, migration_name`,
  );
}
