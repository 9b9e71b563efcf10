import pg from 'pg';
import { MISSING_RIGHT, sqlStateOf } from '../../database/database.errors.js';
import type { Query } from '../../database/database.js';
import { FIELD_NAMES, INT64_MAX, INT64_MIN, parseInt64 } from '../../plants/new-plant.js';
import { columnOf } from '../../plants/plant-sql.js';
import { escapeControls, reasonOf } from '../../util/text.js';
import { assertMigrated, assertNoViews } from '../../database/migrations/migration-status.js';
import { type OpenDatabase, withServiceDatabase } from '../database.js';
import { OutputError, print, progress, table } from '../output.js';
import { quoteArgument, UsageError } from '../parser.js';

const DEFAULT_LIMIT = '20';
const MAX_LIMIT = 10_000;
const EXPORT_LIMIT = 5000;
/** A page of plants ends with the one that makes it as large: one plant may have a megabyte. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Characters of a text that a table shows. */
const MAX_CELL = 40;

/** What is shown of a plant in addition to its id. Its `Idempotency-Key` is the business of its client. */
const FIELDS = [...FIELD_NAMES, 'createdAt', 'createdBy'] as const;
const COLUMNS = FIELDS.map((field) => `"${columnOf(field)}"`).join(', ');
const BYTES = FIELD_NAMES.map((name) => `COALESCE(pg_catalog.octet_length("${columnOf(name)}"), 0)`).join(' + ');
const SHOWN = FIELDS.map((field) => {
  const column = `"${columnOf(field)}"`;
  return `${field === 'createdAt' ? `pg_catalog.replace(pg_catalog.replace(${column}::text, ' ', 'T'), '+00', 'Z')` : column} AS "${field}"`;
}).join(', ');
/** The state of one moment, without a right to write. The reader of an export may take any time over a page. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL datestyle = 'ISO'; SET LOCAL timezone = 'UTC'`;

/** A plant as text, its id digit by digit. */
type ShownPlant = { readonly id: string } & Readonly<Record<(typeof FIELDS)[number], string | null>>;

/** Of PostgreSQL: a table, a column, a schema or a right is missing. */
const MISSING = ['42P01', '42703', '3F000', MISSING_RIGHT];

type Work<T> = (query: Query, table: string) => Promise<T>;

/** Calls `work` with a way to read, and the name of the table. */
function readPlants<T>(schema: string | undefined, work: Work<T>, timeout?: number): Promise<T> {
  const read = async ({ client, query, database }: OpenDatabase): Promise<T> => {
    await assertNoViews(query, database);
    await client.query(BEGIN);
    try {
      return await work(query, `${pg.escapeIdentifier(database.schema)}.plants`);
    } catch (error) {
      if (MISSING.includes(sqlStateOf(error) ?? '')) {
        await client.query('ROLLBACK');
        await assertMigrated(query, database, { plants: ['SELECT'] });
      }
      throw error;
    }
  };
  return withServiceDatabase(schema, read, timeout);
}

/** The plants with the next ids: as many as the limit or fewer, but none only if there are no more. */
function selectPage(query: Query, table: string, limit: number, after?: string): Promise<ShownPlant[]> {
  const where = after === undefined ? '' : 'WHERE id > $3';
  return query(
    `SELECT id::text, ${SHOWN}
     FROM (
       SELECT *, pg_catalog.sum(${BYTES}) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
       FROM (SELECT id, ${COLUMNS} FROM ${table} ${where} ORDER BY id LIMIT $1) AS next
     ) AS page
     WHERE COALESCE(bytes_before, 0) < $2
     ORDER BY page.id`,
    [String(limit), String(MAX_PAGE_BYTES), ...(after === undefined ? [] : [after])],
  );
}

type PlantOptions = Readonly<{ schema?: string; limit?: string; after?: string; json?: boolean; estimate?: boolean }>;

export async function listPlants({ limit = DEFAULT_LIMIT, after, json, schema }: PlantOptions): Promise<void> {
  if (!/^[1-9]\d*$/.test(limit) || Number(limit) > MAX_LIMIT)
    throw new UsageError(`--limit is ${quoteArgument(limit)}, should be a number from 1 to ${MAX_LIMIT}`);
  const start = after === undefined ? undefined : parseId('--after', after);
  const [plants, more] = await readPlants(schema, async (query, table) => {
    const plants = await selectPage(query, table, Number(limit), start);
    const last = plants.at(-1)?.id;
    return [plants, last === undefined ? [] : await selectPage(query, table, 1, last)];
  });
  const lines = plants.map((plant) => `\n  ${toJson(plant)}`).join(',');
  await print(json === true ? `[${lines}${lines && '\n'}]` : plantTable(plants));
  if (more.length > 0) console.error(`There are more plants: plant-store plants list --after=${plants.at(-1)?.id}`);
}

export async function getPlant({ schema }: PlantOptions, text: string): Promise<void> {
  const id = parseId('ID', text);
  const [plant] = await readPlants(schema, (query, table) =>
    query<ShownPlant>(`SELECT id::text, ${SHOWN} FROM ${table} WHERE id = $1`, [id]),
  );
  if (plant === undefined) throw new OutputError(`there is no plant with the id ${id}`);
  await print(toJson(plant));
}

export async function countPlants({ estimate = false, schema }: PlantOptions): Promise<void> {
  const count = (query: Query, table: string): Promise<{ count: string }[]> =>
    estimate
      ? query('SELECT reltuples::bigint::text AS count FROM pg_catalog.pg_class WHERE oid = $1::regclass::oid', [table])
      : query(`SELECT pg_catalog.count(*)::text FROM ${table}`);
  // To count a large table takes minutes, and the server has a limit of its own if that is wanted.
  const [row] = await readPlants(schema, count, estimate ? undefined : 0);
  const reason = 'PostgreSQL has not analyzed the table yet, or it is empty or distributed';
  if (estimate && Number(row?.count) <= 0)
    throw new OutputError(`there is no estimate, as ${reason}: run ANALYZE plants, or count without --estimate`);
  await print(String(row?.count));
}

export async function exportPlants({ after, schema }: PlantOptions): Promise<void> {
  let last = after === undefined ? undefined : parseId('--after', after);
  let written = 0;
  const showProgress = progress();
  const exportAll = async (query: Query, table: string): Promise<void> => {
    for (;;) {
      const page = await selectPage(query, table, EXPORT_LIMIT, last).catch((error: unknown) => {
        if (written === 0) throw error;
        const done = `${written} plants were written. To export the rest: plant-store plants export --after=${last}`;
        throw new Error(`${reasonOf(error)}. ${done}`);
      });
      // The next page is read when this one was written: memory holds one, however many there are.
      if (page.length === 0 || !(await print(page.map(toJson).join('\n')))) return;
      written += page.length;
      last = page.at(-1)?.id;
      // If the plants are on the terminal too, the line would be among them.
      if (!process.stdout.isTTY) showProgress(written);
    }
  };
  await readPlants(schema, exportAll).finally(() => {
    showProgress(written, true);
  });
}

/** As a client would send it, with what the store added: what a plant lacks is absent, and the id is exact. */
function toJson(plant: ShownPlant): string {
  const members = FIELDS.map((field) => (plant[field] === null ? '' : `,"${field}":${JSON.stringify(plant[field])}`));
  return escapeControls(`{"id":${plant.id}${members.join('')}}`);
}

function plantTable(plants: readonly ShownPlant[]): string {
  const header = ['ID', ...FIELDS.map((field) => field.replace(/(?=[A-Z])/, ' ').toUpperCase())];
  const shorten = (text: string): string =>
    text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1).toWellFormed()}…` : text;
  const cells = plants.map((plant) => [plant.id, ...FIELDS.map((field) => shorten(plant[field] ?? '-'))]);
  return table([header, ...cells]);
}

function parseId(name: string, text: string): string {
  const id = parseInt64(text);
  if (id !== undefined) return String(id);
  throw new UsageError(`${name} is ${quoteArgument(text)}, should be an integer from ${INT64_MIN} to ${INT64_MAX}`);
}
