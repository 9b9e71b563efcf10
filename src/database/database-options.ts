import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { LendingPool } from './lending-pool.js';

/** Connections of the store's own. */
export interface UrlDatabaseOptions {
  /** PostgreSQL URL, `postgresql://user@host:5432/database`; `sslmode` and `schema` as parameters. */
  url: string;
  /** The password, as it is, where the URL has none; none unless given. */
  password?: string | undefined;
  /** The schema that holds the store's tables; the URL's `schema`, or else `public`, unless given. */
  schema?: string | undefined;
  /** The most connections that are open at a time, 1000 at most; 10 unless given. */
  size?: number | undefined;
  /** Milliseconds to wait for a connection and the answer to a statement, both together, a day at most; 5000 unless given. */
  timeout?: number | undefined;
  pool?: never;
  adapter?: never;
}

/** Connections that the application lends: they are given back as they were, and the pool is never ended. */
export interface PoolDatabaseOptions {
  /** A pool of `pg`, of whichever version the application uses. */
  pool: LendingPool;
  /** The schema that holds the store's tables, whatever `search_path` the connections have; `public` unless given. */
  schema?: string | undefined;
  /** Milliseconds to wait for a connection and the answer to a statement, both together, a day at most; 5000 unless given. */
  timeout?: number | undefined;
  url?: never;
  password?: never;
  size?: never;
  adapter?: never;
}

/** Connections behind a driver adapter of Prisma's, such as `new PrismaPg(…)`, which names the schema too (`public` where it does not). */
export interface AdapterDatabaseOptions {
  /** A driver adapter for PostgreSQL. What it opens for the store is closed with the application; a pool given to it stays open. */
  adapter: SqlDriverAdapterFactory;
  /** Milliseconds to wait for a connection and the answer to a statement, both together, a day at most; 5000 unless given. */
  timeout?: number | undefined;
  url?: never;
  password?: never;
  schema?: never;
  size?: never;
  pool?: never;
}

/** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
// TypeScript tells of a mistake by the last of them, and most often it is a URL that is undefined.
export type DatabaseOptions = AdapterDatabaseOptions | PoolDatabaseOptions | UrlDatabaseOptions;

/** What a wait for the database may last, unless the options say otherwise. */
export const DEFAULT_TIMEOUT = 5000;
/** Milliseconds by which the server's own statement timeout comes first: it keeps the connection, ours gives it up. */
export const GRACE_MS = 250;
/** The schema that PostgreSQL makes in every database. */
export const DEFAULT_SCHEMA = 'public';
