import { isString } from 'class-validator';
import { describeFound, type Given, Nested, Rule, Should, wholeNumber } from '../util/options.js';
import { failureOf } from '../util/text.js';
import { parseDatabaseUrl, schemaFault } from './database-url.js';

export const DEFAULT_POOL_SIZE = 10;
/** Milliseconds that a wait for the database may take. */
export const DEFAULT_STORAGE_TIMEOUT = 5000;
export const POOL_SIZE = wholeNumber(1, 1000);
/** The longest limit of time: a timer of Node.js that is much longer would fire at once. */
export const DAY_MS = 86_400_000;
export const MILLISECONDS = wholeNumber(1, DAY_MS, ' of milliseconds');

/** The URL of a PostgreSQL database, which must fit the password beside it. Messages repeat neither. */
const PostgresUrl = Rule((url, { password }: DatabaseAddress) => {
  if (typeof url === 'string' && url !== '')
    return failureOf(() => parseDatabaseUrl(url, typeof password === 'string' ? password : undefined));
  const should = 'should be a PostgreSQL URL such as postgresql://user@host:5432/plants';
  if (url === undefined || url === '')
    return `is ${url === '' ? 'empty' : 'missing'}, ${should}; is its environment variable set?`;
  return `${describeFound(url)}, ${should}`;
});

const SchemaName = Rule((schema) => {
  if (schema === undefined) return undefined;
  return typeof schema === 'string' ? schemaFault(schema) : `${describeFound(schema)}, should be the name of a schema`;
});

/** What the store uses of a `pg` pool: any version of `pg` has it, and so may a wrapper of the application's. */
export interface PgPoolLike {
  /** Borrows a connection. */
  connect(): Promise<PgClientLike>;
  /** With these three, the store tells an exhausted pool (50301) from a database that cannot be reached (50300). @defaultValue none */
  readonly totalCount?: number;
  /** Connections that nobody uses now. @defaultValue none */
  readonly idleCount?: number;
  /** `max`: how many connections the pool may open. @defaultValue none */
  readonly options?: { readonly max?: number };
}

/** What the store uses of a `pg` client. */
export interface PgClientLike {
  /** Runs a statement. */
  query(...parameters: never[]): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  /** Returns the connection to its pool; with an error or `true` the pool closes it. */
  release(error?: Error | boolean): void;
}

/** The address of the store's tables. */
export class DatabaseAddress {
  /** PostgreSQL URL: `postgresql://user@host:5432/database`, with `sslmode` and `schema` as parameters. */
  @PostgresUrl
  url!: string;
  /** The password, not encoded, if the URL has none. @defaultValue none */
  @Should('a string', isString)
  password?: string | undefined;
  /** The schema that holds the store's tables. @defaultValue the `schema` of the URL, or else `public` */
  @SchemaName
  schema?: string | undefined;
}

export class MigratorSettings extends DatabaseAddress {
  /** Role of the service, if another role migrates: it gets the rights that the service and `plant-store token` need. @defaultValue none */
  @Should('the name of a role', isString)
  grantTo?: string | undefined;
}

/** The database to migrate. */
export type MigratorOptions = Given<MigratorSettings, 'url'>;

class UrlSettings extends DatabaseAddress {
  /** Connections that may be open at a time, 1 to 1000. @defaultValue 10 */
  @Should(...POOL_SIZE)
  size = DEFAULT_POOL_SIZE;
  /** Milliseconds to wait for a connection and the answer to a statement, both together, 1 to 86400000 (a day). @defaultValue 5000 */
  @Should(...MILLISECONDS)
  timeout = DEFAULT_STORAGE_TIMEOUT;
  @Rule((pool) => (pool === undefined ? undefined : 'is given in addition to url, should be left out, or the url'))
  pool?: undefined;
}

class PoolSettings {
  /** The application's pool of `pg`, of any version. */
  @Should('a Pool of pg', (pool) => typeof (Object(pool) as Partial<PgPoolLike>).connect === 'function', true)
  pool!: PgPoolLike;
  /** The schema that holds the store's tables, whatever `search_path` the connections have. @defaultValue public */
  @SchemaName
  schema?: string | undefined;
  /** Milliseconds to wait for a connection and the answer to a statement, both together, 1 to 86400000 (a day). @defaultValue 5000 */
  @Should(...MILLISECONDS)
  timeout = DEFAULT_STORAGE_TIMEOUT;
}

/** Connections of the store's own. They are closed with the application. */
export type UrlDatabaseOptions = Given<UrlSettings, 'url'>;

/** Connections borrowed from a pool of the application: they are returned unchanged, and the pool is never closed. */
export type PoolDatabaseOptions = Given<PoolSettings, 'pool'>;

/**
 * The database of the plants: either `url`, for connections of the store's own, or `pool`, to borrow those of the application.
 *
 * @example
 * import type { DynamicModule } from '@nestjs/common';
 * import { type DatabaseOptions, PlantsModule, type PlantsModuleOptions } from 'plant-store';
 *
 * export const database: DatabaseOptions = { url: 'postgresql://plants@localhost:5432/app', schema: 'garden', timeout: 2000 };
 * export const guardedStore = (options: PlantsModuleOptions): DynamicModule => PlantsModule.forRoot({ ...options, guards: 'global' });
 */
// Only one of the types has `url`: for a URL that may be undefined, TypeScript then reports that, and not a missing `pool`.
export type DatabaseOptions = UrlDatabaseOptions | PoolDatabaseOptions;

/** Whether the connections are the store's own. */
export function hasUrl(options: DatabaseOptions): options is UrlDatabaseOptions {
  return (options as Partial<UrlDatabaseOptions>).url !== undefined;
}

/** The option that says where plants are stored. */
export function DatabaseOption(): PropertyDecorator {
  const classOf = ({ url, pool }: { url?: unknown; pool?: unknown }): typeof UrlSettings | typeof PoolSettings =>
    url === undefined && pool !== undefined ? PoolSettings : UrlSettings;
  return Nested('{ url } or { pool }: where plants are stored', classOf, true);
}
