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
 * `pg_has_role` a superuser would be in every role.) All is in the catalogue, which every role may read, with any rights in the schema.
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
  SELECT relname::text AS name, quote_ident(nspname::text) AS schema,
    quote_ident(nspname::text) || '.'::text || quote_ident(relname::text) AS identity,
    quote_ident(pg_get_userbyid(relowner)::text) AS owner, quote_ident(pg_get_userbyid(datdba)::text) AS "databaseOwner",
    relowner IN (SELECT oid FROM trusted) AS "isTrusted", relkind IN ('r', 'p', 'S') AS "isTable",
    relpersistence = 'u' AND relkind = 'r' AS "isUnlogged",
    quote_ident(current_user::text) AS role, has_schema_privilege(n.oid, 'USAGE'::text) AS "USAGE",
    has_any_column_privilege(c.oid, 'SELECT'::text) AS "SELECT", has_any_column_privilege(c.oid, 'INSERT'::text) AS "INSERT",
    has_any_column_privilege(c.oid, 'UPDATE'::text) AS "UPDATE"
  FROM tables JOIN pg_class AS c ON c.oid = tables.oid JOIN pg_namespace AS n ON n.oid = relnamespace
    JOIN pg_database ON datname = current_database()
  ORDER BY relname`;

/** A right on a table, of which a right on some columns is enough. */
type Right = 'SELECT' | 'INSERT' | 'UPDATE';
/** Rights of a role, by table. */
export type Rights = Readonly<Record<string, readonly Right[]>>;

/** What the service does with plants. */
export const PLANTS_RIGHTS: Rights = { _prisma_migrations: ['SELECT'], plants: ['SELECT', 'INSERT'] };

type Table = Readonly<Record<'name' | 'schema' | 'identity' | 'owner' | 'databaseOwner' | 'role', string>> &
  Readonly<Record<'isTrusted' | 'isTable' | 'isUnlogged' | 'USAGE' | Right, boolean>>;

/**
 * Returns which of the tables there are. Throws if one is not safe to use, before anything is read, or if the role lacks rights: a view, for
 * example, runs functions of the role that made it.
 */
export async function assertTables(query: Query, { schema, place }: Place, rights: Rights = {}): Promise<Set<string>> {
  const tables = await query<Table>(TABLES, [schema]);
  const faults = [lacksOf(tables, rights), ...tables.map(faultOf)].filter((fault) => fault !== undefined);
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

/** Returns the role that lacks some of these rights, and the statements that grant them; undefined if it has all. */
export async function findMissingRights(query: Query, schema: string, rights: Rights): Promise<string | undefined> {
  return lacksOf(await query<Table>(TABLES, [schema]), rights);
}

function lacksOf(tables: readonly Table[], rights: Rights): string | undefined {
  const needed = tables.filter(({ name }) => rights[name]);
  const lacking = needed.flatMap((table) => [
    ...(table.USAGE ? [] : [`USAGE ON SCHEMA ${table.schema}`]),
    ...(rights[table.name] ?? []).filter((right) => !table[right]).map((right) => `${right} ON ${table.identity}`),
  ]);
  const [first] = needed;
  if (first === undefined || lacking.length === 0) return undefined;
  const grants = [...new Set(lacking)].map((lack) => `GRANT ${lack} TO ${first.role}`).join('; ');
  return `the role ${first.role} lacks rights. Run, as the owner of the tables: ${grants}`;
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
