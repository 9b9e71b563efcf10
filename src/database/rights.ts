import type { Query } from './database.js';

/** Rights of a role, by table. */
export type Rights = Readonly<Record<string, readonly ('SELECT' | 'INSERT' | 'UPDATE')[]>>;

/** What the service does with plants. */
export const PLANTS_RIGHTS: Rights = { plants: ['SELECT', 'INSERT'] };

/** What the service and `plant-store token` do. */
export const ALL_RIGHTS: Rights = {
  ...PLANTS_RIGHTS,
  access_tokens: ['SELECT', 'INSERT', 'UPDATE'],
  _prisma_migrations: ['SELECT'],
};

// From the catalogue, which every role may read, with any rights in the schema. A right on some columns is enough.
const MISSING_GRANTS = `
  SELECT current_user::text AS role,
    pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %I', nspname, current_user) AS statement
  FROM pg_catalog.pg_namespace
  WHERE nspname = $1 AND NOT pg_catalog.has_schema_privilege(oid, 'USAGE')
  UNION ALL
  SELECT current_user::text,
    pg_catalog.format('GRANT %s ON %I.%I TO %I', pg_catalog.string_agg(privilege, ', ' ORDER BY position), nspname, relname, current_user)
  FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS needed (name, privilege, position)
  JOIN pg_catalog.pg_class ON relname = needed.name::name
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace AND nspname = $1
  WHERE NOT pg_catalog.has_any_column_privilege(pg_class.oid, privilege)
  GROUP BY nspname, relname
  UNION ALL
  SELECT current_user::text, pg_catalog.format('GRANT USAGE ON SEQUENCE %I.%I TO %I', nspname, relname, current_user)
  FROM unnest($2::text[], $3::text[]) AS needed (name, privilege)
  JOIN pg_catalog.pg_class ON relname = 'access_tokens_id_seq'::name
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace AND nspname = $1
  WHERE needed.name = 'access_tokens' AND privilege = 'INSERT'
    AND CASE WHEN relkind = 'S' THEN NOT pg_catalog.has_sequence_privilege(pg_class.oid, 'USAGE, UPDATE') END`;

/** Returns the role that lacks some of these rights, and the statements that grant them; undefined if it has all. */
export async function findMissingRights(query: Query, schema: string, rights: Rights): Promise<string | undefined> {
  const needed = Object.entries(rights).flatMap(([table, names]) => names.map((name) => [table, name] as const));
  const rows = await query<{ role: string; statement: string }>(MISSING_GRANTS, [
    schema,
    needed.map(([table]) => table),
    needed.map(([, name]) => name),
  ]);
  if (rows[0] === undefined) return undefined;
  const statements = rows.map(({ statement }) => statement).join('; ');
  return `the role ${rows[0].role} lacks rights. Run, as the owner of the tables: ${statements}`;
}
