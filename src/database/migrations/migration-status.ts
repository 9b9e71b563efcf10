import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { DEFAULT_SCHEMA } from '../database-url.js';
import { Citus } from '../citus.js';
import type { Query } from '../database.js';
import { findMissingRights, type Rights } from '../rights.js';

/**
 * Why the database does not fit this version:
 * - `unreachable`: no connection, or the server refused it
 * - `refused`: the server refused a statement outside of a migration, for lack of a privilege for example
 * - `pooled`: a migration needs a session of its own, and a pooler does not give it one
 * - `locked`: another process was migrating for longer than this one may wait
 * - `pending`: the database lacks migrations of this build
 * - `ahead`: the database has migrations that this build does not know
 * - `foreign`: the schema has the migrations, or the tables, of another application, or of a role that is not trusted
 * - `edited`: a migration's file differs from what was applied
 * - `failed`: a migration was begun and not finished
 */
export type MigrationErrorCode =
  'unreachable' | 'refused' | 'pooled' | 'locked' | 'pending' | 'ahead' | 'foreign' | 'edited' | 'failed';

/** The database is not, or cannot be brought, to what this build needs. The message says what to do. */
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

/** Names of migrations, oldest first; each is in one list only. */
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

/** Compares what the database has with what this build knows, without the schema engine. */
export async function readMigrationStatus(
  query: Query,
  schema: string,
  { migrationDirectories }: MigrationList,
): Promise<MigrationStatus> {
  const known = migrationDirectories.map(({ path }) => path);
  const rows = await readHistory(query, schema);
  const failed = rows.filter(({ finished }) => !finished).map(({ name }) => name);
  const applied = rows.map(({ name }) => name).filter((name) => !failed.includes(name));
  return {
    applied: known.filter((name) => applied.includes(name)),
    pending: known.filter((name) => !applied.includes(name) && !failed.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
    failed,
  };
}

async function readHistory(query: Query, schema: string): Promise<{ name: string; finished: boolean }[]> {
  const table = `${pg.escapeIdentifier(schema)}._prisma_migrations`;
  // A database that was never migrated has no such table, and perhaps not even the schema.
  const [found] = await query<{ oid: unknown }>('SELECT to_regclass($1)::text AS oid', [table]);
  if (found?.oid == null) return [];
  return query(
    `SELECT migration_name AS name, finished_at IS NOT NULL AS finished
     FROM ${table}
     WHERE rolled_back_at IS NULL
     ORDER BY started_at, migration_name`,
  );
}

/** A schema, and its name in messages: which schema of which database it is. */
export interface MigrationPlace {
  readonly schema: string;
  readonly place: string;
}

/**
 * Rejects with a MigrationError unless the schema has the tables that these migrations make, and no others, and the role has these
 * rights.
 */
export async function assertTables(
  query: Query,
  location: MigrationPlace,
  migrations: MigrationList,
  rights: Rights = {},
): Promise<void> {
  const { schema, place } = location;
  const lacks = await findMissingRights(query, schema, { _prisma_migrations: ['SELECT'], ...rights });
  if (lacks !== undefined) throw new MigrationError('refused', `${place}: ${lacks}`);
  const status = await readMigrationStatus(query, schema, migrations);
  if (status.applied.length === 0) await refuseWorker(query, location);
  await assertNoForeignTables(query, location);
  assertHistoryUsable(status, place);
  if (status.pending.length > 0) {
    const missing = `${place} is not migrated: it lacks ${status.pending.join(', ')}`;
    throw new MigrationError('pending', `${missing}. Run ${migrateCommand(schema)}`);
  }
}

/** Throws on a worker of a cluster: it gets its tables from the coordinator, which alone changes them. */
export async function refuseWorker(query: Query, { schema, place }: MigrationPlace): Promise<void> {
  const coordinator = await new Citus(query, schema).findCoordinator();
  if (coordinator === undefined) return;
  const advice = `run plant-store migrate and plant-store distribute on its coordinator, ${coordinator}`;
  throw new MigrationError('refused', `${place}: this is a worker of Citus; ${advice}`);
}

const MAX_TABLES_SHOWN = 3;

/**
 * Throws if a schema has tables and no history of migrations, as that of an application without Prisma Migrate has: the schema
 * engine would refuse it, with advice for the owner of those tables. Tables of extensions do not count.
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
  const shown = [...names.slice(0, MAX_TABLES_SHOWN), ...(names.length > MAX_TABLES_SHOWN ? ['…'] : [])].join(', ');
  throw new MigrationError('foreign', `${place} holds tables of another application: ${shown}. ${OWN_SCHEMA_ADVICE}`);
}

const OWN_SCHEMA_ADVICE =
  'Give the store a schema of its own, by the option `schema`, and migrate that: ' +
  '`plant-store migrate --schema NAME`, or `await new Migrator({ url, schema }).migrate()`';

/** Throws if there are migrations that this build has not made, or not finished. */
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
  if (schema === DEFAULT_SCHEMA) return '`plant-store migrate`, or `await new Migrator({ url }).migrate()`';
  const argument = /^\w+$/.test(schema) ? schema : `'${schema.replaceAll("'", `'\\''`)}'`;
  return `\`plant-store migrate --schema ${argument}\`, or \`await new Migrator({ url, schema: ${JSON.stringify(schema)} }).migrate()\``;
}
