import { Logger } from '@nestjs/common';
import pg from 'pg';
import { type DatabaseUrl, parseDatabaseUrl, withConnection } from '../database/database-url.js';
import type { Query } from '../database/database.js';
import { DEFAULT_STORAGE_TIMEOUT } from '../database/database.options.js';
import { assertMigrated } from '../database/table-checks.js';
import type { IssuedTokensOptions } from './auth.options.js';

/** Limit of a statement: all are short, and no other one is sent meanwhile. */
const STATEMENT_TIMEOUT_MS = 1000;
/** Limit of the wait for a lock when a use is recorded: the next attempt comes in a minute. */
const LOCK_TIMEOUT_MS = 100;

/**
 * SQL of the state of a token. The clock decides, and not the beginning of a transaction, which may have waited for a lock.
 */
export const TOKEN_STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked'::text
  WHEN expires_at <= clock_timestamp() THEN 'expired'::text ELSE 'valid'::text END`;
export type TokenState = 'valid' | 'expired' | 'revoked';

/** An issued token. */
export interface TokenRow {
  readonly id: number;
  /** `tokenKey` of the token. */
  readonly key: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly state: TokenState;
  /** Milliseconds until it expires, by the database's clock; null if it never does. */
  readonly remaining: number | null;
  /** When it was revoked, or else expires, for people. */
  readonly end: string | null;
}

/** The issued tokens in PostgreSQL, on one connection. It keeps no state in its session, and does not keep the process from ending. */
export class TokenStore {
  private readonly database: DatabaseUrl;
  private readonly table: string;
  private readonly pool: pg.Pool;

  constructor({ url, password, schema, timeout = DEFAULT_STORAGE_TIMEOUT }: IssuedTokensOptions) {
    this.database = parseDatabaseUrl(url, password, schema);
    const { config, isPooled } = this.database;
    this.table = `${pg.escapeIdentifier(this.database.schema)}.access_tokens`;
    this.pool = new pg.Pool({
      ...config,
      max: 1,
      connectionTimeoutMillis: timeout,
      query_timeout: STATEMENT_TIMEOUT_MS,
      // On the server too: a statement that waits for a lock would outlive its connection. PgBouncer refuses it, by default.
      ...(!isPooled && { statement_timeout: STATEMENT_TIMEOUT_MS }),
      allowExitOnIdle: true,
      keepAlive: true,
      application_name: 'plant-store-tokens',
    });
    // The next statement opens another connection. Without listeners, these events would end the process.
    this.pool.on('error', () => undefined);
    this.pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Throws if the options name no table of tokens: else every request would get a 50300, as if it could be sent again. */
  async assertReady(): Promise<void> {
    await withConnection(this.database, async (query) => {
      await assertMigrated(query, this.database);
      await inspectTokenTable(query, this.database.schema);
    });
  }

  /** The tokens with these keys. Throws if the server is a standby, which may not hear of a revocation. */
  async find(keys: readonly string[]): Promise<TokenRow[]> {
    // Each moment by itself: PostgreSQL before 17 cannot subtract from one that is infinite. A row that was written by hand may have no scopes.
    const sql = `SELECT pg_is_in_recovery() AS "isStandby", token.* FROM (VALUES (1)) AS always
      LEFT JOIN (SELECT id::float8 AS id, encode(digest, 'hex'::text) AS key, name, COALESCE(scopes, '{}') AS scopes,
          (EXTRACT(EPOCH FROM expires_at) - EXTRACT(EPOCH FROM clock_timestamp()))::float8 * 1000::float8 AS remaining,
          ${TOKEN_STATE} AS state, COALESCE(revoked_at, expires_at)::text AS "end"
        FROM ${this.table} WHERE digest = ANY($1::bytea[])) AS token ON true`;
    const client = await this.pool.connect();
    let failure: Error | undefined;
    try {
      const { rows } = await client.query<TokenRow & { isStandby: boolean }>(sql, [keys.map((key) => `\\x${key}`)]);
      if (rows[0]?.isStandby === true) throw new Error('the server is a standby');
      // Of no token there is one row, without an id.
      return rows.filter(({ id }: { id: number | null }) => id !== null);
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // The next one may lead to the primary again.
      client.release(failure);
    }
  }

  /**
   * Records the last use of tokens, by their ids: so many milliseconds ago. It does not wait for the disk, and not long for a lock, as the next
   * attempt comes in a minute. It has no SKIP LOCKED and no volatile function, which the replicated table of a distributed engine refuses.
   */
  async recordUses(uses: ReadonlyMap<number, number>): Promise<void> {
    // Sorted, so that two instances lock the rows in the same order.
    const values = [...uses]
      .sort(([one], [other]) => one - other)
      .map(([id, age]) => `(${id}::bigint, now() - ${Math.round(age)}::float8 * interval '1 millisecond')`);
    await this.pool.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL synchronous_commit = off;
      UPDATE ${this.table} SET last_used_at = used.at FROM (VALUES ${values.join()}) AS used(id, at)
      WHERE access_tokens.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`);
  }

  async end(): Promise<void> {
    await this.pool.end();
  }
}

/** Warns if the role cannot use the access tokens: static tokens and JWTs are valid without them. */
export async function inspectTokenTable(query: Query, schema: string): Promise<void> {
  const sql = `SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE nspname = $1::name AND relname = 'access_tokens' AND NOT (has_any_column_privilege(c.oid, 'SELECT'::text)
      AND has_any_column_privilege(c.oid, 'UPDATE'::text))`;
  if ((await query(sql, [schema])).length === 0) return;
  const lack = `the role may not read or update ${schema}.access_tokens. The owner permits it by plant-store migrate`;
  new Logger('IssuedTokenVerifier').warn(`Access tokens of schema ${schema} cannot be used: ${lack}`);
}
