import pg from 'pg';
import { FIELD_NAMES, TEXT_FIELDS } from './new-plant.js';
import { COLUMNS, TEXT_COLUMNS } from './plant-sql.js';

/** Limit of a probe's wait for the lock on the table. */
const LOCK_TIMEOUT_MS = 1000;
/** SQLSTATE of a probe if its row was not inserted. */
export const SKIPPED = 'SKIP0';

/**
 * An insert of no row takes the lock of a create, and fails for the server and the role as a create does. A row is inserted too, and rolled
 * back, if one is asked for: a large one needs room in the table, and further pages for a long text. One statement: every adapter can send it.
 */
export function probeStatement(schema: string, timeout: number, row?: 'ordinary' | 'large'): string {
  const table = `${pg.escapeIdentifier(schema)}.plants`;
  const lockTimeout = Math.min(LOCK_TIMEOUT_MS, Math.ceil(timeout / 2));
  return `DO ${pg.escapeLiteral(`DECLARE
      probe_id bigint := (pg_catalog.random() * 2147483647::float8)::bigint;
      stored text;
    BEGIN
      PERFORM pg_catalog.set_config('lock_timeout', '${lockTimeout}', true), pg_catalog.set_config('synchronous_commit', 'local', true);
      INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${table} WHERE false;
      ${row ? insertRow(table, row === 'large') : ''}
    END`)}`;
}

function insertRow(table: string, isLarge: boolean): string {
  // As a create does it: what its ON CONFLICT and RETURNING need may be missing too. The id fits into a smaller type as well.
  const insert = (textOf: (column: string) => string): string =>
    `INSERT INTO ${table} (${COLUMNS}) VALUES (probe_id, 0::bigint, ${TEXT_COLUMNS.map(textOf).join(', ')})
     ON CONFLICT (id) DO NOTHING RETURNING id::text INTO stored;`;
  // Too random to be compressed.
  const long = (column: string): string =>
    `(SELECT pg_catalog.string_agg(pg_catalog.md5(pg_catalog.random()::text), '')
      FROM pg_catalog.generate_series(1, ${column === FIELD_NAMES[0] ? 500 : 55}))`;
  const all = (): string => `'Rose'::text`;
  const required = (column: string): string =>
    TEXT_FIELDS.some(({ name, isOptional }) => name === column && !isOptional) ? all() : 'NULL::text';
  // A constraint may refuse a large plant, or a text that is there or is missing, and yet let those of the clients pass.
  const rows = [...(isLarge ? [long] : []), required, all].map(insert);
  const instead = (next: string, row: string): string => `BEGIN ${row}
    EXCEPTION WHEN insufficient_resources OR system_error OR internal_error THEN RAISE; WHEN OTHERS THEN ${next} END;`;
  return `BEGIN
      ${rows.reduceRight(instead)}
      IF stored IS NULL AND NOT EXISTS (SELECT FROM ${table} WHERE id = probe_id) THEN RAISE EXCEPTION SQLSTATE '${SKIPPED}' USING MESSAGE = 'no row was inserted'; END IF;
      RAISE EXCEPTION SQLSTATE 'PLANT';
    EXCEPTION WHEN SQLSTATE 'PLANT' THEN NULL;
    END;`;
}
