import pg from 'pg';
import { FIELD_NAMES, TEXT_FIELDS } from './new-plant.js';
import { columnOf, TEXT_COLUMNS } from './plant-sql.js';

/** Limit of a probe's wait for the lock on the table. */
const LOCK_TIMEOUT_MS = 1000;

/** A role may have rights on some columns only. */
const COLUMNS = ['id', 'write_id', ...TEXT_COLUMNS.map(columnOf)].join(', ');

/** SQLSTATE of a row that a trigger left out. */
export const SKIPPED = 'SKIP0';

/** Rows that a probe inserts and rolls back. */
interface ProbeRows {
  /** Whether the database may lack resources: the row then needs room in the table, and further pages for a long text. */
  readonly isLarge: boolean;
  /** Whether an ordinary row is inserted. */
  readonly isOrdinary: boolean;
  /** Whether the table has triggers that may leave a row out. */
  readonly hasTriggers: boolean;
}

/**
 * An insert of no row takes the lock of a create, and fails for the server and the role as a create does. One statement, which every
 * adapter can send.
 *
 * @param timeout of a statement, in milliseconds
 */
export function probeStatement(schema: string, timeout: number, rows: ProbeRows): string {
  const table = `${pg.escapeIdentifier(schema)}.plants`;
  const lockTimeout = Math.min(LOCK_TIMEOUT_MS, Math.ceil(timeout / 2));
  return `DO ${pg.escapeLiteral(`DECLARE
      probe_id bigint := (pg_catalog.random() * 2147483647::float8)::bigint;
      stored text;
    BEGIN
      PERFORM pg_catalog.set_config('lock_timeout', '${lockTimeout}', true), pg_catalog.set_config('synchronous_commit', 'local', true);
      INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${table} WHERE false;
      ${rows.isLarge || rows.isOrdinary ? insertRows(table, rows) : ''}
    END`)}`;
}

function insertRows(table: string, { isLarge, hasTriggers }: ProbeRows): string {
  // As a create does it: what its ON CONFLICT and RETURNING need may be missing too. The id is one that a smaller type can hold.
  const insert = (texts: readonly (readonly [column: string, text: string])[]): string =>
    `INSERT INTO ${table} (id, write_id, ${texts.map(([column]) => columnOf(column)).join(', ')})
     VALUES (probe_id, 0::bigint, ${texts.map(([, text]) => text).join(', ')})
     ON CONFLICT (id) DO NOTHING RETURNING id::text INTO stored;`;
  // Too random to be compressed.
  const long = (blocks: number): string =>
    `(SELECT pg_catalog.string_agg(pg_catalog.md5(pg_catalog.random()::text), '') FROM pg_catalog.generate_series(1, ${blocks}))`;
  const large = FIELD_NAMES.map((name, index) => [name, long(index === 0 ? 500 : 55)] as const);
  const texts = (names: readonly string[]) =>
    TEXT_COLUMNS.map((name) => [name, names.includes(name) ? `'Rose'::text` : 'NULL::text'] as const);
  const required = TEXT_FIELDS.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  // A constraint may refuse a large plant, or a field that is there, or one that is missing, and take each that a client sends.
  const attempts = [...(isLarge ? [large] : []), texts(required), texts(TEXT_COLUMNS)].map(insert);
  return `BEGIN
      ${attempts.reduceRight(
        (next, attempt) => `BEGIN ${attempt}
        EXCEPTION WHEN insufficient_resources OR system_error OR internal_error THEN RAISE; WHEN OTHERS THEN ${next} END;`,
      )}
      ${hasTriggers ? `IF stored IS NULL THEN RAISE EXCEPTION SQLSTATE '${SKIPPED}' USING MESSAGE = 'no row was inserted'; END IF;` : ''}
      RAISE EXCEPTION SQLSTATE 'PLANT';
    EXCEPTION WHEN SQLSTATE 'PLANT' THEN NULL;
    END;`;
}
