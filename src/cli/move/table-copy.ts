import { createHash } from 'node:crypto';
import pg from 'pg';
import type { OpenDatabase } from '../database.js';
import { OutputError } from '../output.js';

/** A page ends with the row that makes it as long, or as large: one plant may have a megabyte. */
const PAGE_ROWS = 5000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** Rows by their ids: behind `after`, and up to `last`; without an end where that is null. */
type Page = [after: string | null, last: string | null];
const IN_PAGE = '($1::int8 IS NULL OR id > $1::int8) AND ($2::int8 IS NULL OR id <= $2::int8)';

type PageDigest = Readonly<{ count: string; digest: string | null }>;

/** A table with a column `id` that two databases have: copies its rows from one to the other, and compares them. */
export class TableCopy {
  private constructor(
    private readonly source: OpenDatabase,
    private readonly target: OpenDatabase,
    private readonly table: string,
    /** Of the source, separated by commas. */
    private readonly columns: string,
    /** An expression for the bytes of the texts of a row. */
    private readonly bytes: string,
    /** What an insert does if the target has a row of that id. */
    private readonly onConflict: string,
  ) {}

  /** @param mayUpdate says which rows of the target, if they have the same id, get the values of EXCLUDED; unless given, none */
  static async of(source: OpenDatabase, target: OpenDatabase, table: string, mayUpdate?: string): Promise<TableCopy> {
    const rows = await source.query<{ name: string; isText: boolean }>(
      `SELECT attname::text AS name, atttypid = 'pg_catalog.text'::regtype AS "isText" FROM pg_catalog.pg_attribute
       WHERE attrelid = $1::regclass::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      [nameOf(source, table)],
    );
    const names = rows.map(({ name }) => pg.escapeIdentifier(name));
    // The length of a text is known without reading it, if it is long.
    const texts = names.filter((_, index) => rows[index]?.isText);
    const bytes = texts.map((name) => `COALESCE(pg_catalog.octet_length(${name}), 0)`).join(' + ');
    const changes = names.map((name) => `${name} = EXCLUDED.${name}`).join(', ');
    const onConflict = mayUpdate === undefined ? 'DO NOTHING' : `DO UPDATE SET ${changes} WHERE ${mayUpdate}`;
    return new TableCopy(source, target, table, names.join(', '), bytes, onConflict);
  }

  /** Copies what the target lacks. May be repeated: what is there already is compared, and not sent again. */
  async copy(onProgress: (rows: number) => void): Promise<void> {
    const { source, target, table, columns, onConflict } = this;
    const select = `SELECT pg_catalog.json_agg(page)::text AS rows
      FROM (SELECT ${columns} FROM ${nameOf(source, table)} WHERE ${IN_PAGE}) AS page`;
    // As JSON, a row keeps every bit: numbers are read as the type of their column.
    const insert = `INSERT INTO ${nameOf(target, table)} (${columns})
      SELECT ${columns} FROM pg_catalog.json_populate_recordset(NULL::${nameOf(target, table)}, $1::json)
      ON CONFLICT (id) ${onConflict}`;
    await this.forEachPage(async (page, [wanted, found]) => {
      if (wanted.digest === found.digest) return;
      const [read] = await source.query<{ rows: string | null }>(select, page);
      if (read?.rows != null) await target.query(insert, [read.rows]);
    }, onProgress);
  }

  /** Returns the number of rows, and a digest of them that no version and no collation changes. @throws OutputError if they differ */
  async compare(onProgress: (rows: number) => void): Promise<{ count: number; digest: string }> {
    const hash = createHash('sha256');
    const count = await this.forEachPage(([after, last], [wanted, found]) => {
      if (wanted.count !== found.count || wanted.digest !== found.digest) {
        const range = `with ids ${after === null ? '' : `after ${after} `}${last === null ? 'to the end' : `up to ${last}`}`;
        throw new OutputError(
          `${this.table} differ: ${range} the folder has ${wanted.count} rows and the new database ${found.count}, or others. ` +
            'Another program has changed them meanwhile. Stop it, and run the same command again; if they still differ, move to another database',
        );
      }
      hash.update(wanted.digest ?? '');
    }, onProgress);
    return { count, digest: hash.digest('hex') };
  }

  /** Returns the number of rows of the source. */
  private async forEachPage(
    work: (page: Page, digests: readonly [source: PageDigest, target: PageDigest]) => Promise<void> | void,
    onProgress: (rows: number) => void,
  ): Promise<number> {
    let after: string | null = null;
    let rows = 0;
    for (;;) {
      const last = await this.endOfPage(after);
      const page: Page = [after, last];
      const digests = await Promise.all([this.digestOf(this.source, page), this.digestOf(this.target, page)]);
      await work(page, digests);
      onProgress((rows += Number(digests[0].count)));
      // The last page has whatever follows the last row, which is nothing unless another program has inserted it.
      if (last === null) return rows;
      after = last;
    }
  }

  private async endOfPage(after: string | null): Promise<string | null> {
    const [end] = await this.source.query<{ last: string | null }>(
      `SELECT pg_catalog.max(id)::text AS last
       FROM (
         SELECT id, pg_catalog.sum(${this.bytes}) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
         FROM (SELECT * FROM ${nameOf(this.source, this.table)} WHERE $1::int8 IS NULL OR id > $1::int8 ORDER BY id LIMIT ${PAGE_ROWS}) AS page
       ) AS page
       WHERE COALESCE(bytes_before, 0) < ${PAGE_BYTES}`,
      [after],
    );
    return end?.last ?? null;
  }

  private async digestOf(side: OpenDatabase, page: Page): Promise<PageDigest> {
    const row = `pg_catalog.convert_to(pg_catalog.json_build_array(${this.columns})::text, 'UTF8')`;
    const digest = `pg_catalog.sha256(pg_catalog.string_agg(pg_catalog.sha256(${row}), ''::bytea ORDER BY id))`;
    const sql = `SELECT pg_catalog.count(*)::text AS count, pg_catalog.encode(${digest}, 'hex') AS digest FROM ${nameOf(side, this.table)} WHERE ${IN_PAGE}`;
    const [found] = await side.query<PageDigest>(sql, page);
    return found ?? { count: '0', digest: null };
  }
}

export function nameOf({ database }: OpenDatabase, table: string): string {
  return `${pg.escapeIdentifier(database.schema)}.${table}`;
}
