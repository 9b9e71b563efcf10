import { Logger } from '@nestjs/common';
import { escapeControls } from '../util/text.js';
import type { Query } from './database.js';
import { MigrationError } from './migrations/migration-status.js';

// Each name is qualified, and each operator has operands of its exact types: all this has to be safe before anything is known of the
// database. The catalogue is open to every role.

/** The tables of the store in the schema $1, and their partitions. */
const TABLES = `tables (oid) AS (
    SELECT pg_class.oid FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1::name AND relname IN ('plants', 'access_tokens', '_prisma_migrations')
    UNION SELECT inhrelid FROM tables JOIN pg_catalog.pg_inherits ON inhparent = tables.oid)`;

/**
 * Whose objects may run with the rights of this role. Its own roles are not asked for by pg_has_role: a superuser is in all of them.
 * Before PostgreSQL 15 a role can make everybody its member, so that such a membership means nothing.
 */
const TRUSTED = `own (oid) AS (
    SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user
    UNION SELECT roleid FROM own JOIN pg_catalog.pg_auth_members ON member = own.oid WHERE grantor <> roleid),
  owners (oid) AS (
    SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = $1::name
    UNION SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()),
  trusted (oid) AS (
    SELECT oid FROM own UNION SELECT oid FROM owners UNION SELECT oid FROM pg_catalog.pg_roles WHERE rolsuper)`;

const catalogue = (name: string): string => `'pg_catalog.${name}'::pg_catalog.regclass::pg_catalog.oid`;

/**
 * The tables, and the functions and operators that their parts call: triggers, rules, defaults, constraints, indexes, policies. What only
 * refers to a table, as a view of others does, is no part of it. The first superuser owns without an entry.
 */
const FOREIGN_OBJECTS = `WITH RECURSIVE ${TABLES}, ${TRUSTED}, objects (classid, objid, partclass, part) AS (
    SELECT ${catalogue('pg_class')}, oid, NULL::pg_catalog.oid, NULL::pg_catalog.oid FROM tables
    UNION
    SELECT call.refclassid, call.refobjid, part.classid, part.objid
    FROM tables JOIN pg_catalog.pg_depend AS part ON part.refobjid = tables.oid
    JOIN pg_catalog.pg_depend AS call ON call.classid = part.classid AND call.objid = part.objid
    WHERE part.refclassid = ${catalogue('pg_class')} AND part.deptype IN ('a', 'i')
      AND call.refclassid IN (${catalogue('pg_proc')}, ${catalogue('pg_operator')}))
  SELECT pg_catalog.format('%s %s%s belongs to the role %I', object.type, object.identity,
    ' of the '::text || part.type || ' '::text || part.identity, rolname) AS found
  FROM objects JOIN pg_catalog.pg_shdepend AS owner USING (classid, objid)
  JOIN pg_catalog.pg_database ON pg_database.oid = dbid AND datname = pg_catalog.current_database()
  JOIN pg_catalog.pg_roles ON pg_roles.oid = owner.refobjid
  CROSS JOIN LATERAL pg_catalog.pg_identify_object(objects.classid, objects.objid, 0) AS object
  CROSS JOIN LATERAL pg_catalog.pg_identify_object(partclass, objects.part, 0) AS part
  WHERE deptype = 'o' AND owner.refobjid NOT IN (SELECT oid FROM trusted) AND rolname <> ALL ($2::name[])
  ORDER BY found`;

/** Members of an owner can be the owner. */
const CREATORS = `WITH RECURSIVE ${TRUSTED}
  SELECT pg_catalog.format('REVOKE CREATE ON SCHEMA %I FROM %s', nspname,
    COALESCE(pg_catalog.quote_ident(rolname::text), 'PUBLIC')) AS found
  FROM pg_catalog.pg_namespace CROSS JOIN LATERAL pg_catalog.aclexplode(nspacl)
  LEFT JOIN pg_catalog.pg_roles ON pg_roles.oid = grantee
  WHERE nspname = $1::name AND privilege_type = 'CREATE' AND grantee NOT IN (SELECT oid FROM trusted)
    AND NOT EXISTS (SELECT FROM owners WHERE pg_catalog.pg_has_role(grantee, owners.oid, 'MEMBER'))
  ORDER BY found`;

const UNLOGGED = `WITH RECURSIVE ${TABLES}
  SELECT pg_catalog.format('ALTER TABLE %I.%I SET LOGGED', nspname, relname) AS found
  FROM tables JOIN pg_catalog.pg_class ON pg_class.oid = tables.oid JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
  WHERE relpersistence = 'u' AND relkind = 'r'
  ORDER BY found`;

const MAX_SHOWN = 10;

async function find(query: Query, sql: string, schema: string, ...values: string[][]): Promise<string> {
  const rows = await query<{ found: string }>(sql, [schema, ...values]);
  const shown = rows.slice(0, MAX_SHOWN).map(({ found }) => escapeControls(found));
  return [...shown, ...(rows.length > MAX_SHOWN ? ['…'] : [])].join('; ');
}

/** Says what of the tables belongs to roles that cannot be trusted. It would run with the rights of a role that uses the tables. */
export async function findForeignObjects(
  query: Query,
  schema: string,
  trusted: readonly string[] = [],
): Promise<string> {
  const found = await find(query, FOREIGN_OBJECTS, schema, [...trusted]);
  if (found === '') return '';
  return (
    `${found}. It runs with the rights of the role that uses the tables, and its owner is none of: that role, the roles it is a ` +
    'member of, the owners of schema and database, superusers. Remove it, or let one of these own it'
  );
}

/** Throws before anything of another role can run. To be called before the history is read, as that may be a view. */
export async function assertOwners(
  query: Query,
  { schema, place }: { schema: string; place: string },
  trusted: readonly string[],
): Promise<void> {
  const found = await findForeignObjects(query, schema, trusted);
  if (found !== '')
    throw new MigrationError(
      'foreign',
      `${place}: ${found}; where you trust it, add --trust-owner ROLE, or trustOwners`,
    );
}

/** The statements that take the right to create objects in the schema from other roles; empty if they have none. */
export function findCreators(query: Query, schema: string): Promise<string> {
  return find(query, CREATORS, schema);
}

/** Says which tables a crash of the server would empty, and what to run; undefined if there is none. */
export async function findUnlogged(query: Query, schema: string): Promise<string | undefined> {
  const found = await find(query, UNLOGGED, schema);
  return found === '' ? undefined : `a crash of PostgreSQL would empty tables, which are UNLOGGED. Run ${found}`;
}

/** For the start of a service: warns of what belongs to other roles, and throws where a crash would lose plants or tokens. */
export async function inspectTables(query: Query, { schema, place }: { schema: string; place: string }): Promise<void> {
  const unlogged = await findUnlogged(query, schema);
  if (unlogged !== undefined) throw new MigrationError('refused', `${place}: ${unlogged}`);
  const found = await findForeignObjects(query, schema);
  if (found !== '') new Logger('Migrator').warn(`${place}: ${found}`);
}
