import pg from 'pg';
import { TOKEN_CHANNEL } from './token-channel.js';
import type { TokenUse } from './token-store.js';

/** Milliseconds that a record of use may wait for a lock on the table: there is time until the next one. */
const LOCK_WAIT = 100;

/** The statements that verification sends, for the tables of one schema. */
export class TokenStatements {
  readonly listen = `LISTEN ${TOKEN_CHANNEL}`;
  /** By digests. */
  readonly find: string;
  /** By ids. */
  readonly check: string;
  private readonly table: string;

  constructor(schema: string) {
    this.table = `${pg.escapeIdentifier(schema)}.access_tokens`;
    // Each moment by itself: PostgreSQL before 17 can't subtract from one that is infinite. The clock, and not the beginning
    // of a transaction, which may have waited for a lock.
    const remaining =
      '((EXTRACT(EPOCH FROM expires_at) - EXTRACT(EPOCH FROM clock_timestamp())) * 1000)::float8 AS remaining';
    const select = `SELECT id, digest, name, COALESCE(scopes, '{}') AS scopes, ${remaining} FROM ${this.table}`;
    this.find = `${select} WHERE digest = ANY($1::bytea[]) AND revoked_at IS NULL`;
    this.check = `${select} WHERE id = ANY($1::int[]) AND revoked_at IS NULL`;
  }

  /**
   * At most once a minute for a token, however many instances there are. It waits neither for rows that somebody else is changing
   * nor for the disk: the connection is needed for what matters more. One simple query is one transaction, which the settings are
   * for; it takes no parameters, so the numbers stand in it.
   */
  recordUses(uses: readonly TokenUse[]): string {
    const ids = uses.map(({ id }) => id).join();
    const ages = uses.map(({ age }) => Math.round(age)).join();
    return `SET LOCAL lock_timeout = ${LOCK_WAIT};
      SET LOCAL synchronous_commit = off;
      UPDATE ${this.table} SET last_used_at = used.at FROM (
        SELECT token.id, latest.at
        FROM unnest('{${ids}}'::int[], '{${ages}}'::float8[]) AS given(id, age)
        CROSS JOIN LATERAL (SELECT clock_timestamp() - given.age * interval '1 millisecond') AS latest(at)
        JOIN ${this.table} AS token ON token.id = given.id
        WHERE token.last_used_at IS NULL OR token.last_used_at <= latest.at - interval '1 minute'
        FOR NO KEY UPDATE OF token SKIP LOCKED
      ) AS used WHERE access_tokens.id = used.id`;
  }
}
