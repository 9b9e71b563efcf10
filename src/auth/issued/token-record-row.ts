import { FIRST_MOMENT, LAST_MOMENT } from './token-expiry.js';
import type { TokenRecord } from './token-record.js';

/** An access token as the statements of administration return it. */
export type TokenRecordRow = Omit<TokenRecord, Moment> & Readonly<Record<Moment, number | null>>;

type Moment = 'createdAt' | 'expiresAt' | 'lastUsedAt' | 'revokedAt';

/** The time of a statement, not of its transaction, which may have waited for a lock since it began. */
export const NOW = 'statement_timestamp()';
const STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= ${NOW} THEN 'expired' ELSE 'valid' END`;
/** In seconds, whatever form the session gives to dates, and whether or not Date has them; whole milliseconds, as Date has. */
const moment = (column: string): string => `EXTRACT(EPOCH FROM date_trunc('milliseconds', ${column}))::float8`;

/** What makes a row. Whoever writes to the table by hand may leave the scopes out. */
export const ROW = `id, name, COALESCE(scopes, '{}') AS scopes, ${moment('created_at')} AS "createdAt",
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

/** Of a moment that is out of the years 1 to 9999, as one written by hand may be, the nearest that is not. */
function dateOf(seconds: number): Date {
  return new Date(Math.min(Math.max(Math.round(seconds * 1000), FIRST_MOMENT.getTime()), LAST_MOMENT.getTime()));
}
