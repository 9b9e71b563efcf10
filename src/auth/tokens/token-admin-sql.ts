import pg from 'pg';
import { reasonOf } from '../../util/text.js';
import {
  dateOf,
  moment,
  NOW,
  ROW,
  type TokenExpiry,
  tokenRecord,
  type TokenRecord,
  type TokenRecordRow,
} from './token-record.js';

/** Any number that no other program is likely to use; this one spells "PLTK". */
const LOCK_CLASS = 0x504c544b;
/** Shorter than the limit of the connection, so that the server undoes what comes too late. */
const STATEMENT_TIMEOUT_MS = 8000;

/** In seconds, as the length of days and months depends on the session's time zone. */
const after = (time: Date, seconds: number): Date => dateOf(time.getTime() / 1000 + seconds);
const validAt = (time: string): string => `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${time})`;

/** A change of access tokens is not possible. The message says why, and what is. */
export class TokenAdministrationError extends Error {
  override readonly name = 'TokenAdministrationError';

  /**
   * @param code
   * - `duplicate`: there is a valid token of that name
   * - `unknown`: there is no token of that name or id
   * - `ended`: there is one, but it has expired or was revoked
   * - `past`: the token would have expired already
   * - `unconfirmed`: the database may have made the change, and did not confirm it
   */
  constructor(
    readonly code: 'duplicate' | 'unknown' | 'ended' | 'past' | 'unconfirmed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The SQL of administering access tokens, on one connection. On a distributed engine the table is replicated: a statement that changes
 * it may use immutable functions only, so that it takes the moment as a parameter, and returns ids.
 */
export class TokenAdminSql {
  private readonly table: string;

  constructor(
    private readonly client: pg.ClientBase,
    private readonly schema: string,
  ) {
    this.table = `${pg.escapeIdentifier(schema)}.access_tokens`;
  }

  /**
   * Runs changes to the tokens of one name one after the other.
   *
   * @param advice a sentence for where the database does not confirm the change
   * @throws TokenAdministrationError where the outcome is unknown. After any other error nothing was changed
   */
  async transaction<T>(name: string, advice: string, work: () => Promise<T>): Promise<T> {
    // Whatever the role's defaults are: a change must see the one that it has waited for, and be on disk when it is reported.
    await this.client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    let result: T;
    try {
      await this.client.query(
        `SELECT pg_catalog.set_config('synchronous_commit', 'on', true), pg_catalog.set_config('statement_timeout', $1, true)`,
        [String(STATEMENT_TIMEOUT_MS)],
      );
      await this.client.query('SELECT pg_catalog.pg_advisory_xact_lock($1::int, pg_catalog.hashtext($2))', [
        LOCK_CLASS,
        `${this.schema}\n${name}`,
      ]);
      result = await work();
    } catch (error) {
      // The connection itself may have failed.
      await this.client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
    await this.commit(advice);
    return result;
  }

  async insert(name: string, digest: Buffer, scopes: readonly string[], expiry: TokenExpiry): Promise<TokenRecord> {
    const { at, seconds }: { at?: Date; seconds?: number } = expiry === 'never' ? {} : expiry;
    const now = await this.now();
    const ends = seconds === undefined ? at : after(now, seconds);
    const ids = await this.change(
      `INSERT INTO ${this.table} (name, digest, scopes, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
      [name, digest, scopes, now.toISOString(), ends?.toISOString()],
    );
    const [record] = await this.withIds(ids);
    if (record === undefined) throw new TypeError('the statement should return a row');
    return record;
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
    const { rows } = await this.client.query(`SELECT FROM ${this.table} WHERE ${validAt(NOW)} LIMIT 1`);
    return rows.length > 0;
  }

  /** Returns those that were valid until now. */
  async revoke(ids: readonly number[]): Promise<TokenRecord[]> {
    return this.withIds(
      await this.change(`UPDATE ${this.table} SET revoked_at = $2 WHERE id = ANY($1::bigint[]) AND ${validAt('$2')}`, [
        ids,
        (await this.now()).toISOString(),
      ]),
    );
  }

  /** Lets them expire after that time, or when they would have anyway. */
  async shorten(ids: readonly number[], seconds: number): Promise<TokenRecord[]> {
    const sql = `UPDATE ${this.table} SET expires_at = LEAST(expires_at, $2) WHERE id = ANY($1::bigint[])`;
    return this.withIds(await this.change(sql, [ids, after(await this.now(), seconds).toISOString()]));
  }

  /** Deletes those that ended so many seconds ago. None of them can be valid again. */
  async prune(seconds: number): Promise<TokenRecord[]> {
    const ended = 'LEAST(revoked_at, expires_at) <= $1';
    const values = [after(await this.now(), -seconds).toISOString()];
    const records = await this.many(`SELECT ${ROW} FROM ${this.table} WHERE ${ended} ORDER BY id`, values);
    const ids = new Set(await this.change(`DELETE FROM ${this.table} WHERE ${ended}`, values));
    return records.filter(({ id }) => ids.has(id));
  }

  /** The database's time, in whole milliseconds as `Date` has; of a statement, as its transaction may have waited for a lock. */
  private async now(): Promise<Date> {
    const { rows } = await this.client.query<{ now: number }>(`SELECT ${moment(NOW)} AS now`);
    return dateOf(Number(rows[0]?.now));
  }

  private async change(sql: string, values: unknown[]): Promise<number[]> {
    const { rows } = await this.client.query<{ id: number }>(`${sql} RETURNING id::float8 AS id`, values);
    return rows.map(({ id }) => id);
  }

  private withIds(ids: readonly number[]): Promise<TokenRecord[]> {
    return this.many(`SELECT ${ROW} FROM ${this.table} WHERE id = ANY($1::bigint[]) ORDER BY id`, [ids]);
  }

  private async many(sql: string, values: unknown[] = []): Promise<TokenRecord[]> {
    return (await this.client.query<TokenRecordRow>(sql, values)).rows.map(tokenRecord);
  }

  private async commit(advice: string): Promise<void> {
    try {
      await this.client.query('COMMIT');
    } catch (error) {
      // A server that refuses to commit has undone all, and goes on. One that ends the connection may have committed.
      if (error instanceof pg.DatabaseError && (await this.client.query('SELECT').catch(() => undefined))) throw error;
      const found = `whether the change was made is not known, as the database did not confirm it (${reasonOf(error)})`;
      const message = `${found}. See plant-store token list. ${advice}`;
      throw new TokenAdministrationError('unconfirmed', message, { cause: error });
    }
  }
}
