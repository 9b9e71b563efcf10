import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { plainName, rootReasonOf } from '../util/text.js';
import { withConnection } from './connection.js';
import { parseDatabaseUrl } from './database-url.js';
import { MigrationError } from './database.errors.js';
import { type DatabaseOptions, hasUrl } from './database.options.js';
import type { Database, Query } from './database.js';
import { MIGRATIONS } from './generated/migrations.js';
import { assertSearchPath, assertTables, type Place, PLANTS_RIGHTS, type Rights } from './table-checks.js';

/** A migration of this build: its SQL, and the SHA-256 of that. */
export type Migration = (typeof MIGRATIONS)[number];

type HistoryRow = Readonly<{ name: string; checksum: string; isFinished: boolean }>;

function historyOf(schema: string): string {
  return `${pg.escapeIdentifier(schema)}._prisma_migrations`;
}

/** Makes the history, as Prisma makes it, and the schema if that is missing. */
export async function makeHistory(query: Query, schema: string): Promise<void> {
  // IF NOT EXISTS would ask for the right to create schemas even if there is nothing to create.
  const found = await query('SELECT FROM pg_namespace WHERE nspname = $1::name', [schema]);
  if (found.length === 0) await query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
  await query(`CREATE TABLE IF NOT EXISTS ${historyOf(schema)} (
    id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`);
}

/** Applies a migration, and records it as Prisma does. */
export async function applyMigration(query: Query, schema: string, migration: Migration): Promise<void> {
  await query(migration.sql);
  await query(
    `INSERT INTO ${historyOf(schema)} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), migration.checksum, migration.name],
  );
}

/** Returns the migrations that a schema lacks, oldest first. Throws if it has others, tables of another application, or unsafe ones. */
export async function findPending(
  query: Query,
  { schema, place }: Place,
  migrations: readonly Migration[],
  rights?: Rights,
): Promise<Migration[]> {
  const tables = await assertTables(query, { schema, place }, rights);
  const advice = 'Give the store a schema of its own, by ?schema=NAME in its URL or by the option schema';
  if (!tables.has('_prisma_migrations')) {
    if (!tables.has('plants') && !tables.has('access_tokens')) return [...migrations];
    const found = `${place} has tables without a history of migrations: ${[...tables].join(', ')}`;
    throw new MigrationError('unknown', `${found}. They are of another application. ${advice}`);
  }
  const history = await query<HistoryRow>(
    `SELECT migration_name::text AS name, checksum::text, finished_at IS NOT NULL AS "isFinished"
     FROM ${historyOf(schema)} WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  const unknown = history.filter((row) => !migrations.some((migration) => isOf(row, migration)));
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => plainName(name)).join(', ');
    const found = `${place} has a history of migrations that this build does not know, or that is not finished: ${names}`;
    throw new MigrationError('unknown', `${found}. Use the build that has made it. ${advice}`);
  }
  return migrations.filter(({ name }) => !history.some((row) => row.name === name));
}

function isOf({ name, checksum, isFinished }: HistoryRow, migration: Migration): boolean {
  // Prisma's command line may have applied it from a checkout with the line ends of Windows.
  const ofWindows = createHash('sha256').update(migration.sql.replaceAll('\n', '\r\n')).digest('hex');
  return isFinished && name === migration.name && [migration.checksum, ofWindows].includes(checksum);
}

/** Throws unless the schema has the migrations of this build, and no others, and the role has these rights. */
export async function assertMigrated(query: Query, place: Place, rights?: Rights): Promise<void> {
  const pending = await findPending(query, place, MIGRATIONS, rights);
  if (pending.length === 0) return;
  const missing = pending.map(({ name }) => name).join(', ');
  const advice = 'Run `plant-store migrate`, or `await new Migrator({ url, schema }).migrate()`';
  throw new MigrationError('behind', `${place.place} is not migrated: it lacks ${missing}. ${advice}`);
}

/** Throws if creates would fail, or could be lost. */
async function assertUsable(query: Query, place: Place): Promise<void> {
  await assertSearchPath(query, place);
  await assertMigrated(query, place, PLANTS_RIGHTS);
}

/** For the start of a store. Throws if creates would fail, or could be lost. */
export async function assertReadyForCreates(database: Database, options: DatabaseOptions): Promise<void> {
  const { schema, description, query } = database;
  // On a connection of its own, which is closed after the check.
  if (hasUrl(options)) {
    const url = parseDatabaseUrl(options.url, options.password, options.schema);
    return withConnection(url, (ask) => assertUsable(ask, url));
  }
  await assertUsable(query, { schema, place: `schema ${schema} of ${description}` }).catch((cause: unknown) => {
    if (cause instanceof MigrationError) throw cause;
    throw new MigrationError('unreachable', `cannot use ${description}: ${rootReasonOf(cause)}`, { cause });
  });
}
