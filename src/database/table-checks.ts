import { Logger } from '@nestjs/common';
import pg from 'pg';
import { escapeControls } from '../util/text.js';
import type { Query } from './connection.js';
import type { DatabaseUrl } from './database-url.js';
import { isSetUpRefused, lacksPrivilege, MigrationError, rootReasonOf } from './database.errors.js';
import { MIGRATIONS } from './migrations.js';
import type { StorePool } from './store-pool.js';

type StoreSchema = Pick<DatabaseUrl, 'schema' | 'schemaDescription'>;

/** Roles that may do harm anyway: this one and those it is in, superusers, owners of the schema and the database. */
const TRUSTED = `WITH RECURSIVE own (oid) AS (SELECT oid FROM pg_roles WHERE rolname = current_user
    UNION SELECT roleid FROM own JOIN pg_auth_members ON member = own.oid),
  trusted (oid) AS (SELECT oid FROM own UNION SELECT oid FROM pg_roles WHERE rolsuper
    UNION SELECT nspowner FROM pg_namespace WHERE nspname = $1::name
    UNION SELECT datdba FROM pg_database WHERE datname = current_database())`;
/** The tables of the store in schema $1. Whoever owns one can run code with the rights of its users. */
const TABLES = `${TRUSTED}
  SELECT relname::text AS name, CASE
    WHEN relowner NOT IN (SELECT oid FROM trusted) THEN pg_catalog.format(
      '%1$I.%2$I belongs to the role %3$I, which could run code with the rights of others. '
      'Run ALTER TABLE %1$I.%2$I OWNER TO %4$I', nspname, relname, pg_get_userbyid(relowner), pg_get_userbyid(datdba))
    WHEN relpersistence = 'u' AND relkind = 'r' THEN pg_catalog.format(
      'a crash of PostgreSQL would empty %1$I.%2$I. Run ALTER TABLE %1$I.%2$I SET LOGGED', nspname, relname)
    END AS fault
  FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_database ON datname = current_database()
  WHERE nspname = $1::name AND relname IN ('plants', 'access_tokens', 'access_tokens_id_seq', '_prisma_migrations')
  ORDER BY relname`;
/** What takes from others the right to create in schema $1. */
const REVOKES = `${TRUSTED}
  SELECT pg_catalog.format('REVOKE CREATE ON SCHEMA %I FROM %s', nspname,
    CASE grantee WHEN 0::oid THEN 'PUBLIC'::text ELSE quote_ident(pg_get_userbyid(grantee)::text) END) AS revoke
  FROM pg_namespace CROSS JOIN LATERAL aclexplode(nspacl)
  WHERE nspname = $1::name AND privilege_type = 'CREATE'::text AND grantee NOT IN (SELECT oid FROM trusted)
  ORDER BY 1`;
/**
 * The function that makes the answer about a taken id wait for the disk, if the role may not execute it; else null. The
 * last of its parameters came with PostgreSQL 17.
 */
const DENIED_FUNCTION = `(SELECT oid::regprocedure::text FROM pg_proc
  WHERE prosrc = 'pg_logical_emit_message_text'::text AND NOT has_function_privilege(oid, 'EXECUTE'::text))`;
/** These hold every text. */
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

/** Warns of roles that could put an object of theirs where a later version of the store makes its own. */
export async function warnIfOthersMayCreate(query: Query, { schema, schemaDescription }: StoreSchema): Promise<void> {
  for (const { revoke } of await query<{ revoke: string }>(REVOKES, [schema]))
    new Logger('Database').warn(escapeControls(`${schemaDescription}: others may create in it. Run ${revoke}`));
}

/**
 * Returns the migrations that a schema lacks, oldest first. Throws if it has other migrations, if its tables are of
 * another application or not safe, or if its database cannot hold every text.
 */
export async function findPending(
  query: Query,
  { schema, schemaDescription }: StoreSchema,
): Promise<(typeof MIGRATIONS)[number][]> {
  const errorOf = (code: 'refused' | 'unknown', ...sentences: string[]): MigrationError =>
    new MigrationError(code, escapeControls(`${schemaDescription}: ${sentences.join('. ')}`));
  const [row] = await query<{ server_encoding: string }>('SHOW server_encoding');
  if (row !== undefined && !ENCODINGS.includes(row.server_encoding)) {
    const found = `its database cannot hold every text, as its encoding is ${row.server_encoding}`;
    const command = `CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`;
    throw errorOf('refused', found, `Make another one: ${command}`);
  }
  const tables = await query<{ name: string; fault: string | null }>(TABLES, [schema]);
  const faults = tables.map(({ fault }) => fault).filter((fault) => fault !== null);
  if (faults.length > 0) throw errorOf('refused', ...faults);

  const names = tables.map(({ name }) => name);
  if (names.length === 0) return [...MIGRATIONS];
  const advice = 'Give the store a schema of its own, by ?schema=NAME in its URL or by the option schema';
  if (!names.includes('_prisma_migrations')) {
    const found = `it has tables of another application, without a history of migrations: ${names.join(', ')}`;
    throw errorOf('unknown', found, advice);
  }
  const history = await query<{ name: string; checksum: string }>(
    `SELECT migration_name::text AS name, CASE WHEN finished_at IS NOT NULL THEN checksum::text END AS checksum
     FROM ${pg.escapeIdentifier(schema)}._prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  const isKnown = (row: { name: string; checksum: string }): boolean =>
    MIGRATIONS.some(({ name, checksum }) => name === row.name && checksum === row.checksum);
  const unknown = history.filter((row) => !isKnown(row)).map(({ name }) => name);
  if (unknown.length === 0) return MIGRATIONS.filter(({ name }) => !history.some((row) => row.name === name));
  const found = `it has migrations that this build does not know, or that are not finished: ${unknown.join(', ')}`;
  throw errorOf('unknown', found, 'Use the build that has made it', advice);
}

export async function assertMigrated(query: Query, store: StoreSchema): Promise<void> {
  const pending = await findPending(query, store).catch((cause: unknown) => {
    if (!lacksPrivilege(cause)) throw cause;
    const found = `${store.schemaDescription}: ${rootReasonOf(cause)}`;
    const advice = 'Run `plant-store migrate` as the owner, which makes the GRANTs';
    throw new MigrationError('refused', `${found}. ${advice}`, { cause });
  });
  if (pending.length === 0) return;
  const missing = pending.map(({ name }) => name).join(', ');
  // The URL of the command line may name another schema, or none.
  const command = `plant-store migrate --schema '${store.schema.replaceAll("'", `'\\''`)}'`;
  const advice = `Run \`${command}\` (\`node dist/cli.js\` in a checkout)`;
  throw new MigrationError('behind', `${store.schemaDescription} is not migrated: it lacks ${missing}. ${advice}`);
}

/** Tables that Citus distributes do without the function. */
export async function assertMayExecute(query: Query): Promise<void> {
  const [row] = await query<{ denied: string | null; role: string }>(
    `SELECT ${DENIED_FUNCTION} AS denied, quote_ident(current_user::text) AS role`,
  );
  if (typeof row?.denied !== 'string') return;
  const grant = `GRANT EXECUTE ON FUNCTION ${row.denied} TO ${escapeControls(row.role)}`;
  throw new MigrationError('refused', `the role may not execute a function that creates need. Run ${grant}`);
}

/** Checks the database when a store starts. Throws if creates would fail or be lost. */
export async function assertReadyForCreates(pool: StorePool): Promise<void> {
  const { execute, schemaDescription } = pool;
  try {
    const sql = 'SELECT pg_catalog.current_schemas(true)::pg_catalog.text AS path';
    const [row] = await execute<{ path: string }>(sql);
    // The schema of temporary tables may come first: only this session can write to it.
    if (row && !/^\{(?:pg_temp_\d+,)?pg_catalog\b/.test(row.path)) {
      const found = `the search_path ${row.path} names pg_catalog behind schemas whose functions would be called first`;
      throw new MigrationError('refused', `${schemaDescription}: ${found}`);
    }
    await assertMigrated(execute, pool);
    await warnIfOthersMayCreate(execute, pool);
  } catch (error) {
    if (error instanceof MigrationError) throw error;
    // What the server or the network said.
    const { cause = error } = error as Error;
    const advice = isSetUpRefused(cause) ? '. Declare a transaction pooler in the URL: ?pgbouncer=true' : '';
    const found = `cannot use ${schemaDescription}: ${rootReasonOf(cause)}${advice}`;
    throw new MigrationError('unreachable', found, { cause });
  }
}
