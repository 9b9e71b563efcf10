import pg from 'pg';
import { rootReasonOf } from '../database/database.errors.js';
import type { StorePool } from '../database/store-pool.js';
import { ExplainedError, quote } from '../util/text.js';
import { makeToken, tokenDigest } from './token-format.js';

export type TokenState = 'valid' | 'expired' | 'revoked';
/** The state of a token in SQL. It needs the clock: a transaction may have begun long ago and waited for a lock. */
export const TOKEN_STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked'::text
  WHEN expires_at <= clock_timestamp() THEN 'expired'::text ELSE 'valid'::text END`;
/** A token that expires at infinity or after 9999 counts as one that never does. An expiry before 1970 becomes 1970. */
const COLUMNS = `id::float8 AS id, name, COALESCE(scopes, '{}') AS scopes, created_at AS "createdAt",
  CASE WHEN expires_at < '9999-12-31'::timestamptz THEN GREATEST(expires_at, 'epoch'::timestamptz) END AS "expiresAt",
  last_used_at AS "lastUsedAt"`;

/** An access token without its digest. */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** Exact to the minute. */
  readonly lastUsedAt: Date | null;
  readonly state: TokenState;
}

export function tokenTable(schema: string): string {
  return `${pg.escapeIdentifier(schema)}.access_tokens`;
}

/** Each call is one statement. Prisma's delegates read `infinity` as null, and take the clock of this process. */
export class TokensRepository {
  private readonly table: string;

  constructor(private readonly pool: Pick<StorePool, 'execute' | 'schema'>) {
    this.table = tokenTable(pool.schema);
  }

  /** @param lifetime an interval of PostgreSQL, such as `90d`; null if it never expires */
  async create(name: string, scopes: readonly string[], lifetime: string | null): Promise<[string, TokenRecord]> {
    const token = makeToken();
    const [record] = (await this.query(
      `INSERT INTO ${this.table} (name, digest, scopes, created_at, expires_at)
       VALUES ($1::text, $2::bytea, $3::text[], now(), now() + $4::interval)
       RETURNING ${COLUMNS}, 'valid'::text AS state`,
      [name, `\\x${tokenDigest(token)}`, scopes, lifetime],
    )) as [TokenRecord];
    return [token, record];
  }

  /** All tokens, ordered by name and id. Ended ones are included. */
  list(): Promise<TokenRecord[]> {
    return this.find('true');
  }

  /** Whether any token is valid now. */
  async hasValid(): Promise<boolean> {
    const sql = `SELECT FROM ${this.table} WHERE ${TOKEN_STATE} = 'valid'::text LIMIT 1`;
    return (await this.query(sql)).length > 0;
  }

  /** Revokes the token with this id, or all valid ones with this name. A repetition returns the ended ones. */
  async revoke(nameOrId: string): Promise<TokenRecord[]> {
    // A name is never an id.
    const isMeant = '(name = $1::text OR id::text = $1::text)';
    // Citus refuses volatile functions in a change, so the state is not asked.
    const revoked = await this.query(
      `UPDATE ${this.table} SET revoked_at = now()
       WHERE ${isMeant} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
       RETURNING ${COLUMNS}, 'revoked'::text AS state`,
      [nameOrId],
    );
    const found = revoked.length > 0 ? revoked : await this.find(isMeant, [nameOrId]);
    if (found.length > 0) return found;
    throw new ExplainedError(`there is no access token ${quote(nameOrId)}: plant-store token list shows all`);
  }

  private find(where: string, values?: readonly unknown[]): Promise<TokenRecord[]> {
    return this.query(
      `SELECT ${COLUMNS}, ${TOKEN_STATE} AS state FROM ${this.table} WHERE ${where}
       ORDER BY name COLLATE "C", access_tokens.id`,
      values,
    );
  }

  private query(sql: string, values?: readonly unknown[]): Promise<TokenRecord[]> {
    return this.pool.execute<TokenRecord>(sql, values).catch((cause: unknown) => {
      throw new ExplainedError(`access tokens cannot be used: ${rootReasonOf(cause)}`, { cause });
    });
  }
}
