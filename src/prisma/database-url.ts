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
  /** The role; empty if the URL, PGUSER and USER name none. */
  readonly user: string;
  /** Whether the URL declares a transaction pooler, as for Prisma. */
  readonly isPooled: boolean;
  /** Database, server, port and user for messages, without the password. */
  readonly description: string;
  /** The schema and its database for messages. */
  readonly schemaDescription: string;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/** The values of obeyed parameters. */
type Settings = Record<string, string> & Record<'host' | 'port' | 'user', string>;

/** A later @ or # is probably part of the password and should be encoded. */
const URL_PARTS = RegExp(
  '^postgres(?:ql)?://(?:(?<user>[^:/?#]*)(?::(?<password>[^/?#]*))?@)?(?<host>\\[[^/?#@]*\\]|[^:/?#@]*)' +
    '(?::(?<port>[^/?#@]*))?(?:/(?<dbname>[^?#@]*))?(?:\\?(?<query>[^#@]*))?$',
);
/** The parameters that are obeyed, each with the variable of libpq that counts if the URL leaves it out. */
const OBEYED: Readonly<Record<string, string | undefined>> = {
  application_name: 'PGAPPNAME',
  dbname: 'PGDATABASE',
  host: 'PGHOST',
  idle_in_transaction_session_timeout: undefined,
  options: 'PGOPTIONS',
  password: 'PGPASSWORD',
  pgbouncer: undefined,
  port: 'PGPORT',
  schema: undefined,
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslmode: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  sslrootcert: 'PGSSLROOTCERT',
  statement_cache_size: undefined,
  uselibpqcompat: undefined,
  user: 'PGUSER',
};
/** These are common, and nothing is lost without them. Any other name is refused: it may ask for more safety. */
const IGNORED = (
  'channel_binding client_encoding connect_timeout connection_limit gssencmode keepalives keepalives_count keepalives_idle ' +
  'keepalives_interval lock_timeout pool_timeout query_timeout socket_timeout sslaccept statement_timeout'
).split(' ');
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
};
/** pg treats these modes as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
/** NAMEDATALEN of PostgreSQL is 64, with the final zero. */
const MAX_IDENTIFIER_BYTES = 63;
const MAX_PORT = 65_535;

const NO_URL =
  'must be a PostgreSQL URL such as postgresql://user@host:5432/plants, with special characters percent-encoded (% is %25)';

/**
 * Parses a PostgreSQL URL. `password` is not encoded, and `schema` overrides that of the URL. The whole URL is a
 * secret, so errors repeat no part of it but the name of a parameter.
 */
export function parseDatabaseUrl(url: string, password = '', schema?: string): DatabaseUrl {
  const parts = URL_PARTS.exec(url)?.groups;
  if (parts === undefined || messageIfThrows(() => decodeURIComponent(url)) !== undefined) throw new Error(NO_URL);
  const parameters = new URLSearchParams(parts.query);
  refuseUnknown(parameters);
  const own = (name: string): string => parameters.get(name) ?? decodeURIComponent(parts[name] ?? '');
  if (password !== '' && !['', password].includes(own('password')))
    throw new Error('holds a password other than the one given separately: leave one of them out');
  const settings: Settings = { host: 'localhost', port: '5432', user: pg.defaults.user ?? '' };
  for (const [name, variable = ''] of Object.entries(OBEYED)) {
    const value = own(name) || process.env[variable];
    if (value) settings[name] = value;
  }
  if (password !== '') settings.password = password;
  settings.host = settings.host.replace(/^\[(.*)\]$/, '$1');
  checkSettings(settings);
  const { host, port, user, dbname = user } = settings as Settings & { dbname?: string };
  const chosenSchema = schema ?? settings.schema ?? DEFAULT_SCHEMA;
  const fault = schemaFault(chosenSchema);
  if (fault !== undefined) throw new Error(fault);
  const description = `${dbname} at ${host.replace(/.*:.*/, '[$&]')}:${port}${user && ` as ${user}`}`;
  return {
    config: { ...readByPg(settings), database: dbname },
    schema: chosenSchema,
    user,
    isPooled: settings.pgbouncer === 'true' || settings.statement_cache_size === '0',
    description,
    schemaDescription: `schema ${chosenSchema} of database ${description}`,
    ignored: IGNORED.filter((name) => parameters.has(name)),
  };
}

export function logWarnings({ ignored }: DatabaseUrl): void {
  if (ignored.length === 0) return;
  const found = `Parameters in the URL of the database have no effect: ${ignored.join(', ')}`;
  new Logger('Database').warn(`${found}. docs/configuration.md says what to use instead`);
}

/** pg would take some unknown names for options of its own. An empty or second value is a slip. */
function refuseUnknown(parameters: URLSearchParams): void {
  const isKnown = (name: string): boolean => Object.hasOwn(OBEYED, name) || IGNORED.includes(name);
  const hasValue = ([value, ...others]: string[]): boolean => value !== '' && others.length === 0;
  const wrong = [...parameters.keys()].find((name) => !isKnown(name) || !hasValue(parameters.getAll(name)));
  if (wrong === undefined) return;
  // The name may be the end of a secret that contains an &.
  const found = /^\w+$/.test(wrong) && !parameters.has('password') ? `the parameter ${wrong}` : 'a parameter';
  throw new Error(`has ${found}, which is empty, repeated or none of ${Object.keys(OBEYED).join(', ')}`);
}

function checkSettings({ host, port, ...settings }: Settings): void {
  if (`${host}${port}`.includes(','))
    throw new Error('names several servers: give one address that leads to the primary, such as that of HAProxy');
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > MAX_PORT)
    throw new Error(`must have a port or a PGPORT from 1 to ${MAX_PORT}`);
  for (const [name, choices] of Object.entries(CHOICES))
    if (settings[name] !== undefined && !choices.includes(settings[name]))
      throw new Error(`must have an ${name} or a ${OBEYED[name]} out of ${choices.join(', ')}`);
}

function readByPg(settings: Settings): pg.ClientConfig {
  const parameters = new URLSearchParams(settings);
  const isAlias = SSL_ALIASES.includes(settings.sslmode ?? '') && settings.uselibpqcompat !== 'true';
  // This has the same meaning without the warning.
  if (isAlias) parameters.set('sslmode', 'verify-full');
  let fault: NodeJS.ErrnoException;
  try {
    return parseIntoClientConfig(`postgresql:///?${parameters.toString()}`);
  } catch (error) {
    fault = error as NodeJS.ErrnoException;
  }
  // The cause may hold a path, so it is left out.
  if (fault.syscall === undefined) throw new Error('has sslmode=verify-ca without an sslrootcert');
  const advice = 'without an sslrootcert, such as system, the authorities of Node.js count';
  throw new Error(`names an sslrootcert, sslcert or sslkey that cannot be read (${fault.code}): ${advice}`);
}

/** Explains why PostgreSQL would refuse, shorten or misread this name; undefined if it would not. */
export function schemaFault(schema: string): string | undefined {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0'))
    return `must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`;
  // In a search_path, $user means the schema of the current user, even between quotes.
  return schema === '$user' ? 'must not be $user, which PostgreSQL takes for the name of the user' : undefined;
}
