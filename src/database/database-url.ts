import { Logger } from '@nestjs/common';
import pg from 'pg';

/** The schema that PostgreSQL makes in every database. */
export const DEFAULT_SCHEMA = 'public';

/** A database, for pg and for Prisma's adapter. */
export interface DatabaseUrl {
  /** For a pg Client or Pool: holds the password and selects the schema. */
  readonly connectionString: string;
  readonly schema: string;
  /** The role; empty if the URL leaves it to pg. */
  readonly user: string;
  /** Whether a connection keeps prepared statements: not behind a pooler that the URL declares, as it does for Prisma. */
  readonly keepsStatements: boolean;
  /** Whether the URL declares a pooler that gives each transaction another session. */
  readonly isPooled: boolean;
  /** For people: database, server, port and user, never the password. */
  readonly description: string;
  /** For people: the schema and its database. */
  readonly place: string;
  /** About parameters that have no effect. They hold no value of the URL. */
  readonly warnings: readonly string[];
}

const PROTOCOL = /^postgres(ql)?:\/\//;
/** The URL class refuses a URL with credentials but no host; pg takes it for a local server. */
const NO_HOST = /^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?#:]|$)/;
/** What may name several hosts, which the URL class refuses. A password may hold a comma. */
const HOSTS = /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#@]*)/;
const MAX_IDENTIFIER_BYTES = 63;
const MAX_PORT = 65_535;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** Modes that pg treats as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
/** What pg does as libpq or node-postgres document it. */
const OBEYED_BY_PG = (
  'application_name host idle_in_transaction_session_timeout lock_timeout options port ssl sslcert sslkey sslmode sslnegotiation ' +
  'sslrootcert uselibpqcompat user'
).split(' ');
/** Obeyed by the store itself. pg does not get them: it would take some for options of its own. */
const READ_HERE = ['dbname', 'password', 'pgbouncer', 'schema', 'statement_cache_size'];
/** What libpq, Prisma or pg know, and the store does not obey. */
const IGNORED = (
  'binary channel_binding client_encoding connect_timeout connection_limit fallback_application_name gssdelegation gssencmode gsslib ' +
  'hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts max_connection_lifetime ' +
  'max_idle_connection_lifetime max_protocol_version min_protocol_version oauth_client_id oauth_client_secret oauth_issuer oauth_scope ' +
  'passfile pool_timeout query_timeout replication require_auth requirepeer requiressl scram_client_key scram_server_key service ' +
  'servicefile single_use_connections socket_timeout ssl_max_protocol_version ssl_min_protocol_version sslaccept sslcertmode ' +
  'sslcompression sslcrl sslcrldir sslidentity sslkeylogfile sslpassword sslsni statement_timeout tcp_user_timeout'
).split(' ');
const ONE_SERVER = 'give one address that leads to the primary, such as that of HAProxy';

/**
 * Reads a PostgreSQL URL. The password may come separately, not encoded, and `schema` overrides the URL's. Errors repeat nothing of
 * the input, which is a secret as a whole.
 */
export function parseDatabaseUrl(url: string, password = '', schema?: string): DatabaseUrl {
  const parsed = parseUrl(url);
  const parameters = parsed.searchParams;
  const warnings = checkParameters(parameters);
  const server = serverOf(parsed);
  const user = parameters.get('user') ?? decode(parsed.username);
  const effectiveSchema = checkSchema(schema ?? parameters.get('schema') ?? DEFAULT_SCHEMA);
  parsed.password = encodeURIComponent(
    onlyPassword([decode(parsed.password), parameters.get('password') ?? '', password]),
  );
  const isPooled = parameters.get('pgbouncer') === 'true';
  const keepsStatements = !isPooled && parameters.get('statement_cache_size') !== '0';
  if (parameters.has('dbname')) parsed.pathname = `/${encodeURIComponent(parameters.get('dbname') ?? '')}`;
  for (const name of [...READ_HERE, ...IGNORED]) parameters.delete(name);
  checkSslMode(parameters);
  // PgBouncer refuses it by default, and the statements name their schema.
  if (!isPooled) selectSchema(parameters, effectiveSchema);

  const database = decode(parsed.pathname.slice(1)) || user;
  const description = `${database} at ${server}${user && ` as ${user}`}`;
  return {
    connectionString: parsed.href,
    schema: effectiveSchema,
    user,
    keepsStatements,
    isPooled,
    description,
    place: `schema ${effectiveSchema} of database ${description}`,
    warnings,
  };
}

export function logWarnings({ warnings }: DatabaseUrl): void {
  for (const warning of warnings) new Logger('Database').warn(warning);
}

function parseUrl(url: string): URL {
  if (PROTOCOL.test(url) && HOSTS.exec(url)?.[1]?.includes(',')) throw new Error(`names several hosts: ${ONE_SERVER}`);
  const complete = url.replace(NO_HOST, '$1localhost');
  if (PROTOCOL.test(url) && URL.canParse(complete)) {
    const parsed = new URL(complete);
    // An @ or # after the host is probably part of the password, after a character that was not encoded.
    if (!(parsed.pathname + parsed.search).includes('@') && parsed.hash === '') return parsed;
  }
  throw new Error(
    'must be a PostgreSQL URL such as postgresql://user@host:5432/plants, with special characters percent-encoded',
  );
}

/** Returns a warning about those without effect. Throws if there are others than pg, libpq and Prisma know, or several servers. */
function checkParameters(parameters: URLSearchParams): string[] {
  const names = [...new Set(parameters.keys())];
  if (parameters.has('target_session_attrs')) throw new Error(`has the parameter target_session_attrs: ${ONE_SERVER}`);
  for (const name of ['host', 'port'])
    if (parameters.get(name)?.includes(',')) throw new Error(`has a list in the parameter ${name}: ${ONE_SERVER}`);
  const unknown = names.find((name) => ![...OBEYED_BY_PG, ...READ_HERE, ...IGNORED].includes(name));
  if (unknown !== undefined) {
    // It may be the end of a secret with an & in it.
    const isSafe = /^\w+$/.test(unknown) && !parameters.has('password') && !parameters.has('sslpassword');
    throw new Error(
      `has ${isSafe ? `the parameter ${unknown}` : 'a parameter'} that neither PostgreSQL nor Prisma knows`,
    );
  }
  const ignored = names.filter((name) => IGNORED.includes(name)).join(', ');
  const advice = 'docs/configuration.md says what to use instead';
  return ignored === '' ? [] : [`Parameters in the URL of the database have no effect: ${ignored}. ${advice}`];
}

/** Host and port, for people. As in libpq, the parameters count before the rest of the URL. */
function serverOf({ hostname, port, searchParams }: URL): string {
  const host = searchParams.get('host') ?? decode(hostname).replace(/^\[(.+)\]$/, '$1');
  const number = Number((searchParams.get('port') ?? port) || (process.env.PGPORT ?? '5432'));
  if (!Number.isInteger(number) || number < 1 || number > MAX_PORT)
    throw new Error(`must have a port from 1 to ${MAX_PORT}`);
  return `${host.includes(':') ? `[${host}]` : host || 'localhost'}:${number}`;
}

function decode(component: string): string {
  try {
    return decodeURIComponent(component);
  } catch {
    throw new Error('must be a URL in which a percent sign of its own is written as %25');
  }
}

function onlyPassword(candidates: string[]): string {
  const [first = '', ...others] = new Set(candidates.filter((candidate) => candidate !== ''));
  if (others.length > 0) throw new Error('holds a password other than the one given separately: leave one of them out');
  return first;
}

/** Whether the URL itself names the schema. */
export function namesSchema(url: string): boolean {
  return /[?&]schema=/.test(url);
}

/** Throws if PostgreSQL would refuse the name, cut it short, or take it for another. */
export function checkSchema(schema: string): string {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0'))
    throw new Error(`must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`);
  // In a search_path it is the schema of the user who is connected, between quotes too.
  if (schema === '$user') throw new Error('must not be $user, which PostgreSQL takes for the name of the user');
  return schema;
}

function checkSslMode(parameters: URLSearchParams): void {
  const mode = parameters.get('sslmode');
  if (mode === null) return;
  if (!SSL_MODES.includes(mode)) throw new Error(`must have an sslmode out of ${SSL_MODES.join(', ')}`);
  // The meaning is the same, without the warning.
  if (SSL_ALIASES.includes(mode) && parameters.get('uselibpqcompat') !== 'true')
    parameters.set('sslmode', 'verify-full');
}

/** The server selects the default schema by itself, and connection poolers refuse to pass on `search_path`. */
function selectSchema(parameters: URLSearchParams, schema: string): void {
  if (schema === DEFAULT_SCHEMA) return;
  const searchPath = pg.escapeIdentifier(schema).replace(/[\s\\]/g, '\\$&');
  const options = [parameters.get('options') ?? '', `-c search_path=${searchPath}`];
  parameters.set('options', options.join(' ').trim());
}
