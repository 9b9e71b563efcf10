import pg from 'pg';
import { DEFAULT_SCHEMA } from '../database-url.js';

/**
 * What keeps the database from this version:
 * - `unreachable`: no connection, or the server refused it
 * - `refused`: the server refused a statement outside of a migration, for lack of a privilege for example
 * - `locked`: another process was migrating for longer than this one was told to wait
 * - `pending`: the database lacks migrations of this build
 * - `ahead`: the database has migrations that this build does not know
 * - `foreign`: the schema has the migrations, or the tables, of another application
 * - `edited`: a migration's file differs from what was applied
 * - `failed`: a migration was begun and not finished
 */
export type MigrationErrorCode =
  'unreachable' | 'refused' | 'locked' | 'pending' | 'ahead' | 'foreign' | 'edited' | 'failed';

/** The database is not, or cannot be brought, where this build needs it. The message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';

  constructor(
    readonly code: MigrationErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

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

/** A schema, and what to call it in messages: which schema of which database it is. */
export interface MigrationPlace {
  readonly schema: string;
  readonly place: string;
}

/** Where a schema is another application's. */
export const OWN_SCHEMA_ADVICE =
  'Give the store a schema of its own, by the option `schema`, and migrate that: ' +
  '`plant-store migrate --schema NAME`, or `new Migrator({ url, schema }).migrate()`';

/** Throws unless the schema has the migrations of this build, finished, and no others. */
export function assertMigrated(status: MigrationStatus, { schema, place }: MigrationPlace): void {
  assertHistoryUsable(status, place);
  if (status.pending.length > 0) {
    const lacks = `${place} is not migrated: it lacks ${status.pending.join(', ')}`;
    throw new MigrationError('pending', `${lacks}. Run ${migrateCommand(schema)}`);
  }
}

/** Throws where migrations that this build has not made, or not finished, stand in the way of its own. */
export function assertHistoryUsable({ applied, failed, unknown }: MigrationStatus, place: string): void {
  if (unknown.length > 0 && applied.length === 0) {
    throw new MigrationError(
      'foreign',
      `${place} belongs to another application, which has migrated it: ${unknown.join(', ')}. ${OWN_SCHEMA_ADVICE}`,
    );
  }
  if (failed.length > 0) {
    throw new MigrationError(
      'failed',
      `${place} has a migration that was begun and not finished: ${failed.join(', ')}. If another process is applying it, ` +
        `wait for that; if it failed, ${resolution(failed)}`,
    );
  }
  if (unknown.length > 0) {
    throw new MigrationError(
      'ahead',
      `${place} is migrated further than this build knows: ${unknown.join(', ')}. Deploy the newer build`,
    );
  }
}

/** What to do about failed migrations. */
export function resolution(failed: readonly string[]): string {
  const commands = failed.map((name) => `\`prisma migrate resolve --rolled-back ${name}\``);
  return `remove the cause, mark it as rolled back with ${commands.join(' and ')}, and run \`plant-store migrate\``;
}

function migrateCommand(schema: string): string {
  if (schema === DEFAULT_SCHEMA) return '`plant-store migrate`, or `new Migrator({ url }).migrate()`';
  const argument = /^\w+$/.test(schema) ? schema : `'${schema.replaceAll("'", `'\\''`)}'`;
  return `\`plant-store migrate --schema ${argument}\`, or \`new Migrator({ url, schema: ${JSON.stringify(schema)} }).migrate()\``;
}
