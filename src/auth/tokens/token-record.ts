import { ExplainedError } from '../../util/text.js';

/** An access token without its digest. */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** By the database's clock. */
  readonly state: 'valid' | 'expired' | 'revoked';
}

/** A token, which is shown only now, and what is stored of it. */
export interface NewToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** When a token ends: that many seconds from now by the database's clock, at a moment, or never. */
export type TokenExpiry = { readonly seconds: number } | { readonly at: Date } | 'never';

/** A change of access tokens is not possible. The message says why, and what is. */
export class TokenAdministrationError extends ExplainedError {
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

/** To the second. */
export function utc(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}

/** Between these, all moments have years of four digits, which every date parser reads. */
const FIRST_MOMENT = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z');

/** An access token as the statements of administration return it. */
export type TokenRecordRow = Omit<TokenRecord, Moment> & Readonly<Record<Moment, number | null>>;

type Moment = 'createdAt' | 'expiresAt' | 'lastUsedAt' | 'revokedAt';

/** The time of a statement, not of its transaction, which may have waited for a lock since it began. */
export const NOW = 'pg_catalog.statement_timestamp()';
const STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= ${NOW} THEN 'expired' ELSE 'valid' END`;
/** In seconds, as the session's date format can vary and may not be one that Date knows; in whole milliseconds, as in Date. */
export const moment = (time: string): string =>
  `EXTRACT(EPOCH FROM pg_catalog.date_trunc('milliseconds', ${time}))::float8`;

/** The columns of a row. The id as a number: pg makes a text of a bigint. A row that was written by hand may have no scopes. */
export const ROW = `id::float8 AS id, name, COALESCE(scopes, '{}') AS scopes, ${moment('created_at')} AS "createdAt",
  ${moment('expires_at')} AS "expiresAt", ${moment('last_used_at')} AS "lastUsedAt", ${moment('revoked_at')} AS "revokedAt",
  ${STATE} AS state`;

export function tokenRecord(row: TokenRecordRow): TokenRecord {
  const { createdAt, expiresAt, lastUsedAt, revokedAt } = row;
  return {
    ...row,
    createdAt: dateOf(createdAt ?? -Infinity),
    // What ends at infinity does not end.
    expiresAt: expiresAt === null || expiresAt === Infinity ? null : dateOf(expiresAt),
    lastUsedAt: lastUsedAt === null ? null : dateOf(lastUsedAt),
    revokedAt: revokedAt === null ? null : dateOf(revokedAt),
  };
}

/** A moment outside the years 1 to 9999, which a row written by hand may have, becomes the nearest one inside. */
export function dateOf(seconds: number): Date {
  return new Date(Math.min(Math.max(Math.round(seconds * 1000), FIRST_MOMENT), LAST_MOMENT));
}
