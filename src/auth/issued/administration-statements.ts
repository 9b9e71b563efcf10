import pg from 'pg';
import { LAST_MOMENT, type TokenExpiry } from './token-expiry.js';
import type { TokenRecord } from './token-record.js';
import { NOW, ROW, tokenRecord, type TokenRecordRow } from './token-record-row.js';

const VALID = `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${NOW})`;
/** In seconds, as days and months would be as long as the session's time zone has them. */
const after = (seconds: string): string => `${NOW} + make_interval(secs => ${seconds})`;

/** The SQL of administering access tokens, on one connection. */
export class AdministrationStatements {
  private readonly table: string;

  constructor(
    private readonly client: pg.ClientBase,
    schema: string,
  ) {
    this.table = `${pg.escapeIdentifier(schema)}.access_tokens`;
  }

  insert(name: string, digest: Buffer, scopes: readonly string[], expiry: TokenExpiry): Promise<TokenRecord> {
    const { at, seconds }: { at?: Date; seconds?: number } = expiry === 'never' ? {} : expiry;
    return this.one(
      `INSERT INTO ${this.table} (name, digest, scopes, created_at, expires_at)
       VALUES ($1, $2, $3, ${NOW}, COALESCE($4::timestamptz,
         CASE WHEN $5::float8 IS NOT NULL THEN LEAST(${after('$5::float8')}, $6::timestamptz) END)) RETURNING ${ROW}`,
      [name, digest, scopes, at?.toISOString() ?? null, seconds ?? null, LAST_MOMENT.toISOString()],
    );
  }

  all(): Promise<TokenRecord[]> {
    return this.many(`SELECT ${ROW} FROM ${this.table} ORDER BY name COLLATE "C", id`);
  }

  named(name: string): Promise<TokenRecord[]> {
    return this.many(`SELECT ${ROW} FROM ${this.table} WHERE name = $1 ORDER BY id`, [name]);
  }

  /** @param id as it was typed: it may be larger than any id can be */
  async withId(id: string): Promise<TokenRecord | undefined> {
    const [record] = await this.many(`SELECT ${ROW} FROM ${this.table} WHERE id::text = $1`, [id]);
    return record;
  }

  async anyValid(): Promise<boolean> {
    const { rows } = await this.client.query(`SELECT FROM ${this.table} WHERE ${VALID} LIMIT 1`);
    return rows.length > 0;
  }

  /** Returns those that were valid until now. */
  revoke(ids: readonly number[]): Promise<TokenRecord[]> {
    return this.changed(
      `UPDATE ${this.table} SET revoked_at = ${NOW} WHERE id = ANY($1::int[]) AND ${VALID} RETURNING ${ROW}`,
      [ids],
    );
  }

  /** Lets them expire after that time, or when they would have anyway. */
  shorten(ids: readonly number[], seconds: number): Promise<TokenRecord[]> {
    return this.changed(
      `UPDATE ${this.table} SET expires_at = LEAST(expires_at, ${after('$2::float8')})
       WHERE id = ANY($1::int[]) RETURNING ${ROW}`,
      [ids, seconds],
    );
  }

  /** An update returns its rows in any order. */
  private async changed(sql: string, values: unknown[]): Promise<TokenRecord[]> {
    return (await this.many(sql, values)).sort((one, other) => one.id - other.id);
  }

  private async many(sql: string, values: unknown[] = []): Promise<TokenRecord[]> {
    return (await this.client.query<TokenRecordRow>(sql, values)).rows.map(tokenRecord);
  }

  private async one(sql: string, values: unknown[]): Promise<TokenRecord> {
    const [record] = await this.many(sql, values);
    if (record === undefined) throw new TypeError('the statement should return a row');
    return record;
  }
}
