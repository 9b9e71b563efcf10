import { escapeControls } from '../util/text.js';
import { MigrationError } from './database.errors.js';
import type { Query } from './database.js';

/** A schema, and its name in messages: which schema of which database it is. */
export interface Place {
  readonly schema: string;
  readonly place: string;
}

/**
 * The tables of the store in the schema $1, their partitions, and the sequence. A role that owns one could run code as those who use it, so
 * that only these may: this role, those that it is a member of, superusers, and the owners of the schema and the database. (For
 * `pg_has_role` a superuser would be in every role.)
 */
const TABLES = `WITH RECURSIVE tables (oid) AS (
    SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE nspname = $1::name AND relname IN ('plants', 'access_tokens', 'access_tokens_id_seq', '_prisma_migrations')
    UNION SELECT inhrelid FROM tables JOIN pg_inherits ON inhparent = tables.oid),
  own (oid) AS (SELECT oid FROM pg_roles WHERE rolname = current_user
    UNION SELECT roleid FROM own JOIN pg_auth_members ON member = own.oid),
  trusted (oid) AS (SELECT oid FROM own UNION SELECT oid FROM pg_roles WHERE rolsuper
    UNION SELECT nspowner FROM pg_namespace WHERE nspname = $1::name
    UNION SELECT datdba FROM pg_database WHERE datname = current_database())
  SELECT relname::text AS name, quote_ident(nspname::text) || '.'::text || quote_ident(relname::text) AS identity,
    quote_ident(pg_get_userbyid(relowner)::text) AS owner, quote_ident(pg_get_userbyid(datdba)::text) AS "databaseOwner",
    relowner IN (SELECT oid FROM trusted) AS "isTrusted", relkind IN ('r', 'p', 'S') AS "isTable",
    relpersistence = 'u' AND relkind = 'r' AS "isUnlogged"
  FROM tables JOIN pg_class AS c ON c.oid = tables.oid JOIN pg_namespace AS n ON n.oid = relnamespace
    JOIN pg_database ON datname = current_database()
  ORDER BY relname`;

type Table = Readonly<Record<'name' | 'identity' | 'owner' | 'databaseOwner', string>> &
  Readonly<Record<'isTrusted' | 'isTable' | 'isUnlogged', boolean>>;

/**
 * Returns which of the tables there are. Throws if one is not safe to use, before anything is read: a view, for example, runs functions of
 * the role that made it.
 */
export async function assertTables(query: Query, { schema, place }: Place): Promise<Set<string>> {
  const tables = await query<Table>(TABLES, [schema]);
  const faults = tables.map(faultOf).filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new MigrationError('refused', `${place}: ${escapeControls(faults.join('. '))}`);
  return new Set(tables.map(({ name }) => name));
}

function faultOf({ identity, owner, databaseOwner, isTrusted, isTable, isUnlogged }: Table): string | undefined {
  if (!isTable) return `${identity} should be a table, and is not. Remove it`;
  const alter = `Run ALTER TABLE ${identity}`;
  if (!isTrusted)
    return `${identity} belongs to the role ${owner}, which could run code with the rights of others. ${alter} OWNER TO ${databaseOwner}`;
  return isUnlogged ? `a crash of PostgreSQL would empty ${identity}. ${alter} SET LOGGED` : undefined;
}

/** Rights of a role, by table. */
export type Rights = Readonly<Record<string, readonly string[]>>;

/** What the service does with plants. */
export const PLANTS_RIGHTS: Rights = { _prisma_migrations: ['SELECT'], plants: ['SELECT', 'INSERT'] };

// From the catalogue, which every role may read, with any rights in the schema. A right on some columns is enough.
const MISSING_RIGHTS = `SELECT quote_ident(current_user::text) AS role, privilege || ' ON '::text || place AS lacks FROM (
    SELECT 'USAGE'::text AS privilege, 'SCHEMA '::text || quote_ident(nspname::text) AS place
    FROM pg_namespace WHERE nspname = $1::name AND NOT has_schema_privilege(oid, 'USAGE'::text)
    UNION ALL SELECT privilege, quote_ident(nspname::text) || '.'::text || quote_ident(relname::text)
    FROM unnest($2::text[], $3::text[]) AS needed (name, privilege)
      JOIN pg_class AS c ON relname = needed.name::name JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE nspname = $1::name AND NOT has_any_column_privilege(c.oid, privilege)) AS missing`;

/** Returns the role that lacks some of these rights, and the statements that grant them; undefined if it has all. */
export async function findMissingRights(query: Query, schema: string, rights: Rights): Promise<string | undefined> {
  const needed = Object.entries(rights).flatMap(([table, names]) => names.map((name) => [table, name] as const));
  const values = [schema, needed.map(([table]) => table), needed.map(([, name]) => name)];
  const rows = await query<{ role: string; lacks: string }>(MISSING_RIGHTS, values);
  const grants = rows.map(({ role, lacks }) => `GRANT ${lacks} TO ${role}`).join('; ');
  return rows[0] && `the role ${rows[0].role} lacks rights. Run, as the owner of the tables: ${grants}`;
}

/** Throws if functions of other roles could come before those of PostgreSQL. */
export async function assertSearchPath(query: Query, { place }: Place): Promise<void> {
  const sql = 'SELECT pg_catalog.current_schemas(true)::pg_catalog.text AS path';
  const [row] = await query<{ path: string }>(sql);
  // Temporary tables, which come first, are the session's own.
  if (row === undefined || /^\{(?:pg_temp_\d+,)?pg_catalog\b/.test(row.path)) return;
  const fault = `the search_path ${row.path} names pg_catalog behind other schemas, whose functions would be called instead`;
  throw new MigrationError('refused', `${place}: ${fault}. Leave pg_catalog out of it`);
}
