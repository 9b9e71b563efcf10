import { Logger } from '@nestjs/common';
import pg from 'pg';
import { type Query, withConnection } from '../prisma/connection.js';
import { type DatabaseUrl, parseDatabaseUrl } from '../prisma/database-url.js';
import { ReadOnlyServerError } from '../prisma/database.errors.js';
import { UrlPool } from '../prisma/store-pool.js';
import { assertMigrated } from '../prisma/table-checks.js';
import type { IssuedTokensOptions } from './auth.options.js';

/** Time limit of a connection and a statement. All are short, and the next one waits for this one. */
const TIMEOUT_MS = 1000;
/** Time limit for the lock when a use is recorded. The next attempt comes in a minute. */
const LOCK_TIMEOUT_MS = 100;

/** The state of a token in SQL. It needs the clock: a transaction may have begun long ago and waited for a lock. */
export const TOKEN_STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked'::text
  WHEN expires_at <= clock_timestamp() THEN 'expired'::text ELSE 'valid'::text END`;
export type TokenState = 'valid' | 'expired' | 'revoked';

/** An issued token. */
export interface TokenRow {
  readonly id: number;
  /** The `tokenKey` of the token. */
  readonly key: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly state: TokenState;
  /** Milliseconds until it expires by the clock of the database; null if it never does. */
  readonly remaining: number | null;
  /** The time of the revocation or else of the expiry, for people. */
  readonly end: string | null;
}

/** Finds issued tokens and records their uses, on one connection. It keeps no state in the session. */
export class TokenLookup {
  private readonly database: DatabaseUrl;
  private readonly table: string;
  private readonly pool: UrlPool;

  constructor({ url, password, schema }: IssuedTokensOptions) {
    this.database = parseDatabaseUrl(url, password, schema);
    this.table = tableIn(this.database.schema);
    this.pool = new UrlPool({ url, password, schema, size: 1, timeout: TIMEOUT_MS, name: 'plant-store-tokens' });
  }

  /** Throws if there is no table of tokens. Without this check, requests would get 50300 and be sent again. */
  async assertReady(): Promise<void> {
    await withConnection(this.database, async (query) => {
      await assertMigrated(query, this.database);
      await warnIfTokensUnusable(query, this.database.schema);
    });
  }

  /** Finds the tokens with these keys. Throws on a standby, which may not know of a revocation yet. */
  async find(keys: readonly string[]): Promise<TokenRow[]> {
    // Times are numbers here: PostgreSQL before 17 cannot subtract infinity. A row written by hand may lack scopes.
    const sql = `SELECT pg_is_in_recovery() AS "isStandby", token.* FROM (VALUES (1)) AS always
      LEFT JOIN (SELECT id::float8 AS id, encode(digest, 'hex'::text) AS key, name, COALESCE(scopes, '{}') AS scopes,
          (EXTRACT(EPOCH FROM expires_at) - EXTRACT(EPOCH FROM clock_timestamp()))::float8 * 1000::float8 AS remaining,
          ${TOKEN_STATE} AS state, COALESCE(revoked_at, expires_at)::text AS "end"
        FROM ${this.table} WHERE digest = ANY($1::bytea[])) AS token ON true`;
    const rows = await this.pool.execute<TokenRow & { isStandby: boolean }>(
      sql,
      [keys.map((key) => `\\x${key}`)],
      ([row]) => {
        if (row?.isStandby === true) throw new ReadOnlyServerError('the server is a standby');
      },
    );
    // Without a token there is still one row, whose id is null.
    return rows.filter(({ id }: { id: number | null }) => id !== null);
  }

  /**
   * Records how many milliseconds ago each token was used. It does not wait for the disk, and only shortly for a lock.
   * Citus refuses SKIP LOCKED and volatile functions on replicated tables, so it uses neither.
   */
  async recordUses(uses: ReadonlyMap<number, number>): Promise<void> {
    // All instances lock the rows in the same order, so they do not block each other.
    const values = [...uses]
      .sort(([one], [other]) => one - other)
      .map(([id, age]) => `(${id}::bigint, now() - ${Math.round(age)}::float8 * interval '1 millisecond')`);
    await this.pool.execute(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL synchronous_commit = off;
      UPDATE ${this.table} SET last_used_at = used.at FROM (VALUES ${values.join()}) AS used(id, at)
      WHERE access_tokens.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`);
  }

  async end(): Promise<void> {
    await this.pool.onApplicationShutdown();
  }
}

function tableIn(schema: string): string {
  return `${pg.escapeIdentifier(schema)}.access_tokens`;
}

/** Warns if the role cannot use issued tokens. This is no error, as static tokens and JWTs still work. */
export async function warnIfTokensUnusable(query: Query, schema: string): Promise<void> {
  const sql = `SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE nspname = $1::name AND relname = 'access_tokens' AND NOT (has_any_column_privilege(c.oid, 'SELECT'::text)
      AND has_any_column_privilege(c.oid, 'UPDATE'::text))`;
  if ((await query(sql, [schema])).length === 0) return;
  const lack = `the role may not read or update ${schema}.access_tokens. The owner permits it by plant-store migrate`;
  new Logger('IssuedTokenVerifier').warn(`Access tokens of schema ${schema} cannot be used: ${lack}`);
}

/** Warns if no issued token is valid. A new token is accepted while the service runs. */
export async function warnIfNoToken(query: Query, schema: string): Promise<void> {
  const found = query(`SELECT FROM ${tableIn(schema)} WHERE ${TOKEN_STATE} = 'valid'::text LIMIT 1`);
  // Another warning says that the tokens cannot be read.
  if ((await found.catch(() => undefined))?.length !== 0) return;
  new Logger('PlantStore').warn(
    'No access token is valid now, so nobody can create plants. Create one with "plant-store token create NAME" ("npm run ' +
      'plant-store -- token create NAME" in a checkout, "docker compose exec api plant-store token create NAME" with Docker Compose)',
  );
}
