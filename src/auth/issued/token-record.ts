/** What is told of an access token: all that is stored but its digest. */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** None where it never expires. */
  readonly expiresAt: Date | null;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** By the database's clock. */
  readonly state: 'valid' | 'expired' | 'revoked';
}

/** A token, which is to be had only now, and what is stored of it. */
export interface NewToken {
  readonly token: string;
  readonly record: TokenRecord;
}
