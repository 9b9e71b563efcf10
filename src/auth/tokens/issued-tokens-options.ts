/** Where issued tokens are: the database that `plant-store token` works on, which has the store's tables. */
export interface IssuedTokensOptions {
  /** PostgreSQL URL, `postgresql://user@host:5432/database`; `sslmode` and `schema` as parameters. */
  url: string;
  /** The password, as it is, where the URL has none; none unless given. */
  password?: string | undefined;
  /** The schema that holds the store's tables; the URL's `schema`, or else `public`, unless given. */
  schema?: string | undefined;
  /**
   * Milliseconds that a request waits at most until its token is looked up, a day at most; 5000 unless given. A database that takes more
   * than a second for a statement, or more than 5 seconds for a connection, counts as away, whatever is given.
   */
  timeout?: number | undefined;
}
