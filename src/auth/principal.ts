/** Whom a valid token stands for. */
export interface Principal {
  /** A name that is safe to log: never the token or anything derived from it. */
  readonly name: string;
  readonly scopes: readonly string[];
}
