import { Logger } from '@nestjs/common';
import { escapeControls } from '../util/text.js';
import type { Query } from './database.js';
import { MigrationError, type MigrationPlace } from './migrations/migration-status.js';

/** The tables of the store in the schema $1, their partitions, and the sequence. */
const TABLES = `tables (class, oid) AS (
    SELECT c.tableoid, c.oid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
    WHERE nspname = $1::name AND relname IN ('plants', 'access_tokens', 'access_tokens_id_seq', '_prisma_migrations')
    UNION SELECT class, inhrelid FROM tables JOIN pg_catalog.pg_inherits ON inhparent = tables.oid)`;

const DATABASE_OWNER = 'SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()';

/**
 * The roles whose objects may run as this one. A role that may grant another can make this one its member, so only grants of superusers and of
 * the owner of the database count. For pg_has_role a superuser is in every role.
 */
const TRUSTED = `own (oid) AS (
    SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user
    UNION SELECT roleid FROM own JOIN pg_catalog.pg_auth_members ON member = own.oid
    WHERE grantor IN (SELECT oid FROM pg_catalog.pg_roles WHERE rolsuper OR rolname = current_user UNION ${DATABASE_OWNER})),
  trusted (oid) AS (SELECT oid FROM own UNION SELECT oid FROM pg_catalog.pg_roles WHERE rolsuper
    UNION SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = $1::name
    UNION ${DATABASE_OWNER})`;

/**
 * Tables, and their parts (triggers, rules, defaults, constraints, indexes, policies) that call a function or operator. A view that others
 * have made of a table is no part of it. pg_shdepend does not know owners that PostgreSQL comes with.
 */
const FOREIGN_OBJECTS = `WITH RECURSIVE ${TABLES}, ${TRUSTED}, objects (classid, objid, owner) AS (
    SELECT class, c.oid, relowner FROM tables JOIN pg_catalog.pg_class AS c ON c.oid = tables.oid
    UNION SELECT part.classid, part.objid, COALESCE(proowner, oprowner)
    FROM tables JOIN pg_catalog.pg_depend AS part ON part.refclassid = class AND part.refobjid = tables.oid AND part.deptype IN ('a', 'i')
    JOIN pg_catalog.pg_depend AS call ON call.classid = part.classid AND call.objid = part.objid
    LEFT JOIN pg_catalog.pg_proc AS p ON p.tableoid = call.refclassid AND p.oid = call.refobjid
    LEFT JOIN pg_catalog.pg_operator AS o ON o.tableoid = call.refclassid AND o.oid = call.refobjid)
  SELECT pg_catalog.format('%s %s: %I', type, identity, rolname) AS found
  FROM objects JOIN pg_catalog.pg_roles AS r ON r.oid = owner AND rolname <> ALL ($2::name[])
  CROSS JOIN LATERAL pg_catalog.pg_identify_object(objects.classid, objects.objid, 0)
  WHERE owner NOT IN (SELECT oid FROM trusted)`;

const UNLOGGED = `WITH RECURSIVE ${TABLES} SELECT pg_catalog.format('ALTER TABLE %I.%I SET LOGGED', nspname, relname) AS found
  FROM tables JOIN pg_catalog.pg_class AS c ON c.oid = tables.oid JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
  WHERE relpersistence = 'u' AND relkind = 'r'`;

const MAX_SHOWN = 10;

async function find(query: Query, sql: string, ...values: (string | string[])[]): Promise<string | undefined> {
  const rows = await query<{ found: string }>(`${sql} ORDER BY found LIMIT ${MAX_SHOWN}`, values);
  return rows.length > 0 ? rows.map(({ found }) => escapeControls(found)).join('; ') : undefined;
}

/** Says what of the tables belongs to roles that cannot be trusted. */
export async function findForeignObjects(query: Query, schema: string, trusted: string[] = []) {
  const found = await find(query, FOREIGN_OBJECTS, schema, trusted);
  const owners = 'this role, the roles it is a member of, the owners of schema and database, or superusers';
  const meaning =
    'what belongs to other roles, or calls it, could run code with the rights of those who use the tables';
  const advice = `Give it to ${owners}: ALTER … OWNER TO; or drop a trigger, a rule or a default, and never a table with plants`;
  return found && `${meaning}: ${found}. ${advice}`;
}

/** Throws before anything of another role can run: to be called before the history is read, which may be a view. */
export async function assertOwners(query: Query, { schema, place }: MigrationPlace, trusted: string[]): Promise<void> {
  const found = await findForeignObjects(query, schema, trusted);
  const forOperators = `${place}: ${String(found)}; or trust a role: --trust-owner ROLE`;
  if (found) throw new MigrationError('foreign', `${forOperators}, or trustOwners`, { forOperators });
}

/** Says which tables a crash of the server would empty, and what to run. */
export async function findUnlogged(query: Query, schema: string): Promise<string | undefined> {
  const found = await find(query, UNLOGGED, schema);
  return found && `a crash of PostgreSQL would empty tables, which are UNLOGGED. Run ${found}`;
}

/** For a service that starts. Throws if a crash would lose plants or tokens. */
export async function inspectTables(query: Query, { schema, place }: MigrationPlace): Promise<void> {
  const [unlogged, foreign] = [await findUnlogged(query, schema), await findForeignObjects(query, schema)];
  if (unlogged) throw new MigrationError('refused', `${place}: ${unlogged}`);
  if (foreign) new Logger('Migrator').warn(`${place}: ${foreign}`);
}
