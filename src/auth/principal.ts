/** Whom a valid token stands for. */
export interface Principal {
  /**
   * A name that is safe to log and to store: never the token or anything derived from it. 1 to 255 characters, without U+0000 and
   * lone surrogates; with any other name a create is answered with 50000.
   */
  readonly name: string;
  /** What the token may be used for; `plants:create` to create plants. */
  readonly scopes: readonly string[];
  /** What a rate limit counts by, where several principals have one name; the name unless given. */
  readonly limitKey?: string;
  /** What metrics count by, where there may be any number of names; the name unless given. */
  readonly metricLabel?: string;
}
