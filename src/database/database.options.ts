import { IsOptional, IsString } from 'class-validator';
import { CheckedBy, IsIntBetween, optionsOf, type OptionsOf } from '../util/options.js';
import { messageIfThrows } from '../util/text.js';
import { parseDatabaseUrl, schemaFault } from './database-url.js';

export const DEFAULT_POOL_SIZE = 10;
export const MAX_POOL_SIZE = 1000;
export const DEFAULT_STORAGE_TIMEOUT = 5000;
/** The longest time limit. A timer of Node.js that is much longer fires at once. */
export const DAY_MS = 86_400_000;

/** Checks the URL together with its password. Messages repeat neither. */
const IsPostgresUrl = () =>
  CheckedBy((url, { password }: DatabaseAddress) =>
    messageIfThrows(() => parseDatabaseUrl(String(url), typeof password === 'string' ? password : undefined)),
  );

const IsSchema = () =>
  CheckedBy((schema) => (typeof schema === 'string' ? schemaFault(schema) : 'must be the name of a schema'));

/** The part of a `pg` pool that the store uses. Any version of `pg` has it, and a wrapper may have it. */
export interface PgPoolLike {
  /** Borrows a connection. */
  connect(): Promise<PgClientLike>;
  /** With these three members, an exhausted pool is answered with 50301. @defaultValue none */
  readonly totalCount?: number;
  readonly idleCount?: number;
  readonly options?: { readonly max?: number };
  /** With these two, the store listens to lost idle connections: without a listener, they end the process. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  removeListener?(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of a `pg` client that the store uses. */
export interface PgClientLike {
  /** Runs a statement. */
  query(...parameters: never[]): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  /** Returns the connection to the pool. With an error or `true` the pool closes it. */
  release(error?: Error | boolean): void;
}

/** The address of the store's tables. */
export class DatabaseAddress {
  /** PostgreSQL URL: `postgresql://user@host:5432/database`, with `sslmode` and `schema` as parameters. */
  @IsPostgresUrl()
  url!: string;
  /** The password, not encoded, if it is not in the URL. @defaultValue none */
  @IsOptional()
  @IsString()
  password?: string | undefined;
  /** The schema of the tables. @defaultValue the `schema` of the URL, or else `public` */
  @IsOptional()
  @IsSchema()
  schema?: string | undefined;
}

export class MigratorSettings extends DatabaseAddress {
  /** The role of the service, if it is another one. It gets the rights for creates and tokens. @defaultValue none */
  @IsOptional()
  @IsString()
  grantTo?: string | undefined;
}

/** The database to migrate. */
export type MigratorOptions = OptionsOf<MigratorSettings, 'url'>;

class UrlSettings extends DatabaseAddress {
  /** The maximum number of connections, 1 to 1000. @defaultValue 10 */
  @IsIntBetween(1, MAX_POOL_SIZE)
  size = DEFAULT_POOL_SIZE;
  /** Milliseconds to wait for a connection and an answer together, 1 to 86400000 (a day). @defaultValue 5000 */
  @IsIntBetween(1, DAY_MS)
  timeout = DEFAULT_STORAGE_TIMEOUT;
}

class PoolSettings {
  /** The application's pool of `pg`, of any version. */
  @CheckedBy((pool) =>
    typeof (Object(pool) as Partial<PgPoolLike>).connect === 'function' ? undefined : 'must be a Pool of pg',
  )
  pool!: PgPoolLike;
  /** The schema of the tables. The `search_path` of the connections does not matter. @defaultValue public */
  @IsOptional()
  @IsSchema()
  schema?: string | undefined;
  /** Milliseconds to wait for a connection and an answer together, 1 to 86400000 (a day). @defaultValue 5000 */
  @IsIntBetween(1, DAY_MS)
  timeout = DEFAULT_STORAGE_TIMEOUT;
}

/** The store opens its own connections and closes them with the application. */
export type UrlDatabaseOptions = OptionsOf<UrlSettings, 'url'>;

/** The store uses connections of the application's pool. It returns them unchanged, and never closes the pool. */
export type PoolDatabaseOptions = OptionsOf<PoolSettings, 'pool'>;

/**
 * The database of the plants: `url` for the store's own connections, or `pool` for those of the application.
 * Creates that arrive together share a session. One that needs the session of its request, with its tenant for example,
 * is created in a `transaction` of the application.
 */
// Only one of the types has `url`: if a URL may be undefined, TypeScript reports that, and not a missing `pool`.
export type DatabaseOptions = UrlDatabaseOptions | PoolDatabaseOptions;

/** Whether the connections are the store's own. */
export function hasUrl(options: DatabaseOptions): options is UrlDatabaseOptions {
  return (options as Partial<UrlDatabaseOptions>).url !== undefined;
}

/** Fills the class that fits. Anything else than an object stays as it is, and is refused by `@ValidateNested()`. */
export function databaseOptionsOf(given: DatabaseOptions): DatabaseOptions {
  if (typeof given !== 'object' || Array.isArray(given)) return given;
  const { url, pool } = given as { url?: unknown; pool?: unknown };
  return optionsOf<DatabaseOptions>(url === undefined && pool !== undefined ? PoolSettings : UrlSettings, given);
}
