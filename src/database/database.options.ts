import { checkSchema, namesSchema, parseDatabaseUrl } from './database-url.js';
import { DAY_MS, describeOption, numberFault, unknownNames } from '../util/options.js';
import { reasonOf } from '../util/text.js';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';

/** The faults of a database's URL, and of the password beside it. @param prefix stands before the options' names */
export function urlFaults({ url, password }: Record<string, unknown>, prefix = ''): string[] {
  if (typeof url !== 'string') return [`${prefix}url: ${describeOption(url)}, should be a PostgreSQL URL`];
  if (password !== undefined && typeof password !== 'string') {
    return [`${prefix}password: ${describeOption(password)}, should be a string`];
  }
  return faultsOf(`${prefix}url`, () => parseDatabaseUrl(url, password));
}

/** The faults of a schema's name, if there is one. */
export function schemaFaults(name: string, schema: unknown): string[] {
  if (schema === undefined) return [];
  if (typeof schema !== 'string') return [`${name}: ${describeOption(schema)}, should be the name of a schema`];
  return faultsOf(name, () => checkSchema(schema));
}

function faultsOf(name: string, check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [`${name}: ${reasonOf(error)}`];
  }
}

/** The fault of a schema beside a URL that names another; both have to be right by themselves. */
export function contradictingSchema(options: Record<string, unknown>, prefix: string): string[] {
  const { url, schema } = options as { url: string; schema?: unknown };
  if (schema === undefined || !namesSchema(url) || schema === parseDatabaseUrl(url).schema) return [];
  return [`${prefix}schema: is not the schema that ${prefix}url names, should be given in one place only`];
}

const SOURCES = ['url', 'pool', 'adapter'] as const;
const NAMES = [...SOURCES, 'password', 'schema', 'size', 'timeout'];
/** What contradicts a pool or an adapter, and where it belongs instead. */
const STRANGERS = {
  url: {},
  pool: { password: 'give it to the pool', size: 'the size of the pool counts' },
  adapter: {
    password: 'give it to the adapter',
    size: 'give it to the adapter',
    schema: 'give it to the adapter, as in new PrismaPg(…, { schema })',
  },
};
const LARGEST_SIZE = 1000;

/** Everything that is wrong with the option `database`, one line each. JavaScript has no types, so all is checked. */
export function databaseFaults(database: unknown): string[] {
  if (typeof database !== 'object' || database === null) {
    return [
      `database: ${describeOption(database)}, should be { url }, { pool } or { adapter }: where plants are stored`,
    ];
  }
  const options = database as Record<string, unknown>;
  const sources = SOURCES.filter((name) => options[name] !== undefined);
  return [
    ...unknownNames(options, NAMES, 'database.'),
    ...sourceFaults(options, sources),
    ...(sources.includes('url') ? ownFaults(options) : []),
    ...(sources.includes('pool') ? poolFaults(options.pool) : []),
    ...(sources.includes('adapter') ? adapterFaults(options.adapter) : []),
    ...schemaFaults('database.schema', options.schema),
    ...numberFault('database.size', options.size, LARGEST_SIZE),
    ...numberFault('database.timeout', options.timeout, DAY_MS),
  ];
}

function sourceFaults(options: Record<string, unknown>, sources: readonly (typeof SOURCES)[number][]): string[] {
  const [source, ...others] = sources;
  if (source === undefined || others.length > 0) {
    const has = sources.length === 0 ? 'none of url, pool and adapter' : sources.join(' and ');
    return [`database: has ${has}, should have exactly one of url, pool and adapter`];
  }
  return Object.entries(STRANGERS[source])
    .filter(([name]) => options[name] !== undefined)
    .map(([name, place]) => `database.${name}: does not go with ${source}, should be left out: ${place}`);
}

function ownFaults(options: Record<string, unknown>): string[] {
  const faults = urlFaults(options, 'database.');
  return faults.length > 0 ? faults : contradictingSchema(options, 'database.');
}

function poolFaults(pool: unknown): string[] {
  const { connect, provider } = Object(pool) as Record<string, unknown>;
  if (typeof connect === 'function' && provider === undefined) return [];
  return [
    `database.pool: ${describeOption(pool)} that is none, should be a Pool of pg; a driver adapter goes into adapter`,
  ];
}

function adapterFaults(adapter: unknown): string[] {
  const { connect, provider } = Object(adapter) as Record<string, unknown>;
  if (typeof connect === 'function' && provider === 'postgres') return [];
  const what = typeof provider === 'string' ? `is for ${provider}` : `${describeOption(adapter)} that is none`;
  return [
    `database.adapter: ${what}, should be a driver adapter of Prisma's for PostgreSQL, such as new PrismaPg(…); a pg pool goes into pool`,
  ];
}

/** As much of a `pg` pool as the store uses: any version of `pg` has it, and so may what an application puts in front. */
export interface PgPoolLike {
  connect(): Promise<PgClientLike>;
  /** Where these three are told, a pool that is exhausted is told apart from a database that cannot be reached. */
  readonly totalCount?: number;
  readonly idleCount?: number;
  readonly options?: { readonly max?: number };
}

/** As much of a `pg` client as the store uses. */
export interface PgClientLike {
  query(...parameters: never[]): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}

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
  pool: PgPoolLike;
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
