import { createHash } from 'node:crypto';
import { makeToken, tokenDigest } from '../../../src/auth/token-format.js';
import { CREATE_PLANTS } from '../../../src/auth/token-verifier.js';
import type { TestDatabase } from '../database/test-database.js';
import type { RawResponse } from '../http/raw-connection.js';

interface TokenFields {
  token?: string;
  name?: string;
  scopes?: string[];
  /** An interval from now, such as `1 hour` or `-1 second`, or `infinity`; never, unless given. */
  expires?: string;
}

/** A token as it is stored, written into the database directly. */
export interface StoredToken {
  readonly token: string;
  readonly id: number;
  /** What goes into a request. */
  readonly headers: { Authorization: string };
}

export async function issueToken(
  database: Pick<TestDatabase, 'query'>,
  { token = makeToken(), name = 'gardener', scopes = [CREATE_PLANTS], expires }: TokenFields = {},
): Promise<StoredToken> {
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO access_tokens (name, digest, scopes, expires_at)
     VALUES ($1, $2, $3, CASE $4 WHEN 'infinity' THEN 'infinity' ELSE clock_timestamp() + $4::interval END) RETURNING id::float8 AS id`,
    [name, tokenDigest(token), scopes, expires ?? null],
  );
  if (row === undefined) throw new Error('no token was inserted');
  return { token, id: row.id, headers: bearer(token) };
}

export function bearer(token: string): { Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}

/** No plant: with a valid token it is refused with 40003, and nothing is written. */
export const NO_PLANT = '{}';

/** The number that a request was refused with; undefined if it was not. */
export function errorOf(response: RawResponse | undefined): number | undefined {
  return (JSON.parse(response?.body ?? '{}') as { error?: number }).error;
}

/** The SHA-256 digest of a token, in all forms that it may be written in. */
export function digestForms(token: string): string[] {
  const digest = createHash('sha256').update(token).digest();
  const encodings = ['hex', 'base64', 'base64url', 'latin1', 'utf8'] as const;
  return encodings.map((encoding) => digest.toString(encoding).replace(/=+$/, ''));
}
