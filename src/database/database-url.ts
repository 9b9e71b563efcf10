import { Logger } from '@nestjs/common';
import pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { messageIfThrows } from '../util/text.js';

export const DEFAULT_SCHEMA = 'public';

/** A parsed URL. */
export interface DatabaseUrl {
  /** The configuration for a client or a pool of pg. It holds the password. */
  readonly config: pg.ClientConfig;
  readonly schema: string;
  /** The role; empty if neither the URL nor the variables of pg name one. */
  readonly user: string;
  /** Whether the URL declares a transaction pooler, as for Prisma. */
  readonly isBehindPooler: boolean;
  /** Database, server, port and user for messages, without the password. */
  readonly description: string;
  /** The schema and its database for messages. */
  readonly schemaDescription: string;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/** A later @ or # is probably part of the password and should be encoded. */
const URL_PARTS = RegExp(
  '^postgres(?:ql)?://(?:(?<user>[^:/?#]*)(?::(?<password>[^/?#]*))?@)?(?<host>\\[[^/?#@]*\\]|[^:/?#@]*)' +
    '(?::(?<port>[^/?#@]*))?(?:/(?<dbname>[^?#@]*))?(?:\\?(?<query>[^#@]*))?$',
);
/** pg reads the other variables of libpq itself, and sslmode too, but with any value. */
const VARIABLES: Readonly<Record<string, string>> = {
  application_name: 'PGAPPNAME',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
};
const OBEYED = (
  'user password host port dbname idle_in_transaction_session_timeout options pgbouncer schema sslnegotiation ' +
  `statement_cache_size uselibpqcompat ${Object.keys(VARIABLES).join(' ')}`
).split(' ');
/** These are common, and nothing is lost without them. Any other name is refused: it may ask for more safety. */
const IGNORED = (
  'channel_binding client_encoding connect_timeout connection_limit gssencmode keepalives keepalives_idle ' +
  'lock_timeout pool_timeout query_timeout socket_timeout sslaccept statement_timeout'
).split(' ');
/** pg treats the first three as verify-full, but warns of them on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
const SSL_MODES = [...SSL_ALIASES, 'verify-full', 'no-verify', 'disable'];
/** NAMEDATALEN of PostgreSQL is 64, with the final zero. */
const MAX_IDENTIFIER_BYTES = 63;

const NO_URL =
  'must be a PostgreSQL URL such as postgresql://user@host:5432/plants, ' +
  'with special characters percent-encoded (% is %25)';

/**
 * Parses a PostgreSQL URL. `password` is not encoded, and `schema` overrides that of the URL. The whole URL is a
 * secret, so errors repeat no part of it but the name of a parameter.
 */
export function parseDatabaseUrl(url: string, password = '', schema?: string): DatabaseUrl {
  const parts = URL_PARTS.exec(url)?.groups;
  if (parts === undefined || messageIfThrows(() => decodeURIComponent(url)) !== undefined) throw new Error(NO_URL);
  const parameters = new URLSearchParams(parts.query);
  refuseUnknown(parameters);
  const settings: Record<string, string> = {};
  for (const name of OBEYED) {
    const own = parameters.get(name) ?? decodeURIComponent(parts[name] ?? '');
    const value = own === '' ? process.env[VARIABLES[name] ?? ''] : own;
    if (value) settings[name] = value;
  }
  if (password !== '' && ![undefined, password].includes(settings.password))
    throw new Error('holds a password other than the one given separately: leave one of them out');
  if (password !== '') settings.password = password;
  if (settings.host) settings.host = settings.host.replace(/^\[(.*)\]$/, '$1');
  const { config, client } = readByPg(settings);
  const { host, port, user = '', database } = client;
  if (`${host}${settings.port}`.includes(','))
    throw new Error('names several servers: give one address that leads to the primary, such as that of HAProxy');
  const chosenSchema = schema ?? settings.schema ?? DEFAULT_SCHEMA;
  const fault = schemaFault(chosenSchema);
  if (fault !== undefined) throw new Error(fault);
  const description = `${database} at ${host.replace(/.*:.*/, '[$&]')}:${port}${user && ` as ${user}`}`;
  return {
    config,
    schema: chosenSchema,
    user,
    isBehindPooler: settings.pgbouncer === 'true' || settings.statement_cache_size === '0',
    description,
    schemaDescription: `schema ${chosenSchema} of database ${description}`,
    ignored: IGNORED.filter((name) => parameters.has(name)),
  };
}

export function warnOfIgnored({ ignored }: DatabaseUrl): void {
  if (ignored.length === 0) return;
  const found = `Parameters in the URL of the database have no effect: ${ignored.join(', ')}`;
  new Logger('Database').warn(`${found}. docs/configuration.md says what to use instead`);
}

/** pg would take some unknown names for options of its own. An empty or second value is a slip. */
function refuseUnknown(parameters: URLSearchParams): void {
  const isKnown = (name: string): boolean => OBEYED.includes(name) || IGNORED.includes(name);
  const isOnce = (name: string): boolean => parameters.getAll(name).length === 1 && parameters.get(name) !== '';
  const wrong = [...parameters.keys()].find((name) => !isKnown(name) || !isOnce(name));
  if (wrong === undefined) return;
  // The name may be the end of a secret that contains an &.
  const found = /^\w+$/.test(wrong) && !parameters.has('password') ? `the parameter ${wrong}` : 'a parameter';
  throw new Error(`has ${found}, which is empty, repeated or none of ${OBEYED.join(', ')}`);
}

/** What pg makes of the settings, its variables and its defaults. The client connects to nothing. */
function readByPg({ dbname, ...settings }: Record<string, string>): { config: pg.ClientConfig; client: pg.Client } {
  const { sslmode } = settings;
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode))
    throw new Error(`must have an sslmode or a PGSSLMODE out of ${SSL_MODES.join(', ')}`);
  const isAlias = SSL_ALIASES.includes(sslmode ?? '') && settings.uselibpqcompat !== 'true';
  const parameters = new URLSearchParams({ ...settings, ...(isAlias && { sslmode: 'verify-full' }) });
  try {
    const config = { ...parseIntoClientConfig(`postgresql:///?${parameters.toString()}`), database: dbname };
    return { config, client: new pg.Client(config) };
  } catch (error) {
    // Its message may repeat a secret. The code says why a file cannot be read.
    const { code = 'invalid' } = error as NodeJS.ErrnoException;
    // eslint-disable-next-line preserve-caught-error -- a log would print the cause
    throw new Error(`has a wrong port, sslnegotiation, sslrootcert, sslcert or sslkey (${code})`);
  }
}

/** Explains why PostgreSQL would refuse, shorten or misread this name; undefined if it would not. */
export function schemaFault(schema: string): string | undefined {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0'))
    return `must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`;
  // In a search_path, $user means the schema of the current user, even between quotes.
  return schema === '$user' ? 'must not be $user, which PostgreSQL takes for the name of the user' : undefined;
}
