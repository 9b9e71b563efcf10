import { createHash } from 'node:crypto';
import pg from 'pg';
import { ExplainedError, plainName, rootReasonOf } from '../../util/text.js';
import { DEFAULT_SCHEMA } from '../database-url.js';
import type { Query } from '../database.js';
import { MIGRATIONS } from '../generated/migrations.js';
import { findMissingRights, type Rights } from '../rights.js';

/**
 * Why a database does not fit this version:
 * - `unreachable`: no connection, or the server refused it
 * - `refused`: the server refused a statement outside of a migration, for example because a privilege is missing
 * - `pooled`: a migration needs a session of its own, and the address is that of a pooler that gives it none
 * - `locked`: another process was migrating, or kept a table, for longer than this one may wait
 * - `pending`: the database lacks migrations of this build
 * - `ahead`: the database has migrations that this build does not know
 * - `foreign`: the schema has the migrations, or the tables, of another application, or of a role that is not trusted
 * - `edited`: a migration differs from what was applied
 * - `failed`: a migration failed, with nothing of it left; or `prisma migrate` has begun one and not finished it
 */
export type MigrationErrorCode =
  'unreachable' | 'refused' | 'pooled' | 'locked' | 'pending' | 'ahead' | 'foreign' | 'edited' | 'failed';

/** The database does not have what this version needs, or cannot get it. The message says what to do. */
export class MigrationError extends ExplainedError {
  override readonly name = 'MigrationError';
  override readonly forOperators: string | undefined;

  constructor(
    /** Why. */
    readonly code: MigrationErrorCode,
    message: string,
    { forOperators, ...options }: ErrorOptions & { forOperators?: string | undefined } = {},
  ) {
    super(message, options);
    this.forOperators = forOperators;
  }
}

/** A failure that explains itself, or else a refusal of the server's. */
export function refusal(cause: unknown, place: string): ExplainedError {
  if (cause instanceof ExplainedError) return cause;
  return new MigrationError('refused', `${place}: ${rootReasonOf(cause)}`, { cause });
}

/** A migration of this build: its SQL, the SHA-256 of that, and a column that is there once it is applied. */
export type Migration = (typeof MIGRATIONS)[number];

/** Names of migrations, oldest first. Each name is in one list only. */
export interface MigrationStatus {
  /** Known to this version and applied. */
  readonly applied: readonly string[];
  /** Known to this version and not applied. */
  readonly pending: readonly string[];
  /** Applied, by a newer version for example, and not known to this one. */
  readonly unknown: readonly string[];
  /** Begun and not finished, by `prisma migrate` or a version that used it. */
  readonly failed: readonly string[];
}

type HistoryRow = Readonly<{ name: string; checksum: string; finished: boolean }>;

/** Compares what the database has with what this build knows. */
export function statusOf(history: readonly HistoryRow[], migrations: readonly Migration[]): MigrationStatus {
  const known = migrations.map(({ name }) => name);
  const failed = history.filter(({ finished }) => !finished).map(({ name }) => name);
  const applied = history.map(({ name }) => name).filter((name) => !failed.includes(name));
  return {
    applied: known.filter((name) => applied.includes(name)),
    pending: known.filter((name) => !applied.includes(name) && !failed.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
    failed,
  };
}

export function historyTable(schema: string): string {
  return `${pg.escapeIdentifier(schema)}._prisma_migrations`;
}

export async function readHistory(query: Query, schema: string): Promise<HistoryRow[]> {
  const table = historyTable(schema);
  // A database that was never migrated has no such table, and perhaps not even the schema.
  const [found] = await query<{ oid: unknown }>('SELECT pg_catalog.to_regclass($1::text)::oid AS oid', [table]);
  if (found?.oid == null) return [];
  return query(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
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

/** Rejects with a MigrationError unless the schema has these migrations, finished, and no others, and the role has these rights. */
export async function assertMigrated(
  query: Query,
  location: MigrationPlace,
  rights: Rights = {},
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const { schema, place } = location;
  await assertNoViews(query, location);
  const lacks = await findMissingRights(query, schema, { _prisma_migrations: ['SELECT'], ...rights });
  if (lacks !== undefined) throw new MigrationError('refused', `${place}: ${lacks}`);
  const history = await readHistory(query, schema);
  const status = statusOf(history, migrations);
  await refuseTablesWithoutHistory(query, location);
  assertUnedited(history, migrations, location);
  assertHistoryUsable(status, location, migrations);
  if (status.failed.length > 0) throw unfinished(status.failed, location, 'which finishes it');
  if (status.pending.length > 0) {
    const missing = `${place} is not migrated: it lacks ${status.pending.join(', ')}`;
    throw advise('pending', ({ migrate }) => `${missing}. Run ${migrate(schema)}`);
  }
}

/** Throws if one of the tables is something else, before it is read: a view runs functions of the role that made it. */
async function assertNoViews(query: Query, { schema, place }: MigrationPlace): Promise<void> {
  const rows = await query<{ name: string }>(
    `SELECT c.relname::text AS name FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = $1::name AND c.relname IN ('plants', 'access_tokens', '_prisma_migrations') AND c.relkind NOT IN ('r', 'p')`,
    [schema],
  );
  const names = rows.map(({ name }) => name).join(', ');
  if (names === '') return;
  throw advise(
    'foreign',
    ({ ownSchema }) => `${place}: ${names} should be a table, and is not. Remove it. ${ownSchema}`,
  );
}

const MAX_TABLES_SHOWN = 3;

/**
 * Throws if a schema has tables and no history of migrations, as that of an application without Prisma Migrate has. Tables of
 * extensions do not count.
 */
export async function refuseTablesWithoutHistory(query: Query, { schema, place }: MigrationPlace): Promise<void> {
  const rows = await query<{ name: string }>(
    `SELECT c.relname::text AS name
     FROM pg_catalog.pg_class AS c
     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = $1::name AND c.relkind = 'r'::"char" AND NOT EXISTS (
       SELECT FROM pg_catalog.pg_depend AS d
       WHERE d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.objid = c.oid
         AND d.deptype = 'e'::"char")
     ORDER BY c.relname`,
    [schema],
  );
  const names = rows.map(({ name }) => name);
  if (names.length === 0 || names.includes('_prisma_migrations')) return;
  const shown = listOf(names.slice(0, MAX_TABLES_SHOWN)) + (names.length > MAX_TABLES_SHOWN ? ', …' : '');
  const found = `${place} holds tables of another application: ${shown}`;
  throw advise('foreign', ({ ownSchema }) => `${found}. ${ownSchema}`);
}

/** Who runs the service knows its variables and commands, who embeds the store its options and classes too. */
const FOR_OPERATORS = {
  ownSchema:
    'Give the store a schema of its own, by ?schema=NAME at the end of DATABASE_URL, and migrate that: `plant-store migrate`',
  migrate: (schema: string): string =>
    schema === DEFAULT_SCHEMA ? '`plant-store migrate`' : `\`plant-store migrate --schema ${shellWord(schema)}\``,
};
const FOR_HOSTS: typeof FOR_OPERATORS = {
  ownSchema:
    'Give the store a schema of its own, by the option `schema`, and migrate that: ' +
    '`plant-store migrate --schema NAME`, or `await new Migrator({ url, schema }).migrate()`',
  migrate: (schema) => {
    const options = schema === DEFAULT_SCHEMA ? '{ url }' : `{ url, schema: ${JSON.stringify(schema)} }`;
    return `${FOR_OPERATORS.migrate(schema)}, or \`await new Migrator(${options}).migrate()\``;
  },
};

function advise(code: MigrationErrorCode, message: (words: typeof FOR_OPERATORS) => string): MigrationError {
  return new MigrationError(code, message(FOR_HOSTS), { forOperators: message(FOR_OPERATORS) });
}

/** Throws if there are migrations that this build does not know. */
export function assertHistoryUsable(
  { applied, failed, unknown }: MigrationStatus,
  location: MigrationPlace,
  migrations: readonly Migration[],
): void {
  const strange = failed.filter((name) => !migrations.some((migration) => migration.name === name));
  const names = listOf([...unknown, ...strange]);
  if (names === '') return;
  if (applied.length === 0 && strange.length === failed.length) {
    const found = `${location.place} belongs to another application, which has migrated it: ${names}`;
    throw advise('foreign', ({ ownSchema }) => `${found}. ${ownSchema}`);
  }
  if (unknown.length === 0) throw unfinished(strange, location, 'of the newer build that has it');
  const found = `${location.place} is migrated further than this build knows: ${names}`;
  throw new MigrationError('ahead', `${found}. Deploy the newer build`);
}

function unfinished(names: readonly string[], { schema, place }: MigrationPlace, rest: string): MigrationError {
  const found = `${place} has a migration that was begun and not finished: ${listOf(names)}`;
  return advise('failed', ({ migrate }) => `${found}. Run ${migrate(schema)}, ${rest}`);
}

/** Throws if a migration of this build was applied with other SQL: by another program, or by a build that never was released. */
export function assertUnedited(
  history: readonly HistoryRow[],
  migrations: readonly Migration[],
  { place }: MigrationPlace,
): void {
  const edited = migrations.filter(({ name, checksum, sql }) => {
    // Prisma's command line may have applied it from a checkout with the line ends of Windows.
    const other = createHash('sha256').update(sql.replaceAll('\n', '\r\n')).digest('hex');
    return history.some((row) => row.name === name && ![checksum, other].includes(row.checksum));
  });
  if (edited.length === 0) return;
  const names = listOf(edited.map(({ name }) => name));
  const found = `${place} has a history that this build does not know: it was migrated with another SQL of ${names}`;
  throw advise('edited', ({ ownSchema }) => `${found}. Use the build that has migrated it. ${ownSchema}`);
}

function listOf(names: readonly string[]): string {
  return names.map(plainName).join(', ');
}

function shellWord(text: string): string {
  return /^\w+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
