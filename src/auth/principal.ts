/** Whom a valid token stands for. */
export interface Principal {
  /** A name that is safe to log and to store: never the token or anything derived from it. */
  readonly name: string;
  /** What the token may be used for; `plants:create` to create plants. */
  readonly scopes: readonly string[];
  /** What a rate limit counts by, where several principals have one name; the name unless given. */
  readonly limitKey?: string;
  /** What metrics count by, where there may be any number of names; the name unless given. */
  readonly metricLabel?: string;
}
