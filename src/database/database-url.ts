import { Logger } from '@nestjs/common';
import pg from 'pg';
import { findNearest } from '../util/did-you-mean.js';

/** The schema that PostgreSQL makes in every database. */
export const DEFAULT_SCHEMA = 'public';

/** A name, an address or the folder of a Unix socket, and a port. */
export interface DatabaseServer {
  readonly host: string;
  readonly port: number;
}

/** Which of the servers may be used: the values of libpq's `target_session_attrs` that make sense for a program that writes. */
const TARGETS = ['any', 'read-write', 'primary'] as const;

/** A password, or a function that returns the one that is valid now: it is called for each connection. */
export type DatabasePassword = string | (() => string | Promise<string>);

/** A database, for pg and for Prisma's adapter. */
export interface DatabaseUrl {
  /** For a pg Client or Pool: holds the password and selects the schema. Of several servers it names the first: see clientOf. */
  readonly connectionString: string;
  readonly servers: readonly DatabaseServer[];
  readonly target: (typeof TARGETS)[number];
  readonly schema: string;
  /** The role; empty if the URL leaves it to pg. */
  readonly user: string;
  /** Whether a connection keeps prepared statements: not behind a pooler that the URL declares, as it does for Prisma. */
  readonly keepsStatements: boolean;
  /** Whether the URL declares a pooler that gives each transaction another session. */
  readonly isPooled: boolean;
  /** Called for each connection, if the connection string has no password. */
  readonly readPassword: Exclude<DatabasePassword, string> | undefined;
  /** For people: database, servers, ports and user, never the password. */
  readonly description: string;
  /** For people: the schema and its database. */
  readonly place: string;
  /** About parameters that have no effect or are missing. They hold no value of the URL. */
  readonly warnings: readonly string[];
}

const PROTOCOL = /^postgres(ql)?:\/\//;
/** The URL class refuses a URL with credentials but no host; pg takes it for a local server. */
const NO_HOST = /^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?#:]|$)/;
const MAX_IDENTIFIER_BYTES = 63;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** Modes that pg treats as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
/** What pg does as libpq or node-postgres document it. */
const OBEYED_BY_PG = (
  'application_name host idle_in_transaction_session_timeout lock_timeout options port ssl sslcert sslkey sslmode sslnegotiation ' +
  'sslrootcert uselibpqcompat user'
).split(' ');
/** Obeyed by the store itself. pg does not get them: it would take some for options of its own. */
const READ_HERE = ['dbname', 'password', 'pgbouncer', 'schema', 'statement_cache_size', 'target_session_attrs'];
/** What libpq, Prisma or pg know, and the store does not obey. */
const IGNORED = (
  'binary channel_binding client_encoding connect_timeout connection_limit fallback_application_name gssdelegation gssencmode gsslib ' +
  'hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts max_connection_lifetime ' +
  'max_idle_connection_lifetime max_protocol_version min_protocol_version oauth_client_id oauth_client_secret oauth_issuer oauth_scope ' +
  'passfile pool_timeout query_timeout replication require_auth requirepeer requiressl scram_client_key scram_server_key service ' +
  'servicefile single_use_connections socket_timeout ssl_max_protocol_version ssl_min_protocol_version sslaccept sslcertmode ' +
  'sslcompression sslcrl sslcrldir sslidentity sslkeylogfile sslpassword sslsni statement_timeout tcp_user_timeout'
).split(' ');
const KNOWN = [...OBEYED_BY_PG, ...READ_HERE, ...IGNORED];
const AUTHORITY = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * Reads a PostgreSQL URL. The password may come separately, not encoded, and `schema` overrides the URL's. Errors repeat nothing of
 * the input, which is a secret as a whole.
 */
export function parseDatabaseUrl(url: string, password?: DatabasePassword, schema?: string): DatabaseUrl {
  const urls = splitHosts(url);
  const [parsed] = urls;
  const parameters = parsed.searchParams;
  const servers = findServers(urls);
  const target = TARGETS.find((each) => each === (parameters.get('target_session_attrs') ?? 'any'));
  if (!target) throw new Error(`must have a target_session_attrs out of ${TARGETS.join(', ')}, since the store writes`);
  const warnings = checkParameters(parameters);
  if (servers.length > 1 && !parameters.has('target_session_attrs')) {
    warnings.push(
      'The URL of the database names several hosts and no target_session_attrs: the first that takes connections is used, even if it ' +
        'is a standby. Add the parameter target_session_attrs=read-write',
    );
  }
  const user = parameters.get('user') ?? decode(parsed.username);
  const effectiveSchema = checkSchema(schema ?? parameters.get('schema') ?? DEFAULT_SCHEMA);

  const readPassword = typeof password === 'function' ? password : undefined;
  const given = [decode(parsed.password), parameters.get('password') ?? ''];
  if (readPassword && given.some((one) => one !== ''))
    throw new Error('holds a password, and another one comes from a function or a file: leave one of them out');
  parsed.password = encodeURIComponent(onlyPassword([...given, typeof password === 'string' ? password : '']));
  const isPooled = parameters.get('pgbouncer') === 'true';
  const keepsStatements = !isPooled && parameters.get('statement_cache_size') !== '0';
  if (parameters.has('dbname')) parsed.pathname = `/${encodeURIComponent(parameters.get('dbname') ?? '')}`;
  for (const name of [...READ_HERE, ...IGNORED]) parameters.delete(name);
  const [first] = servers;
  if (servers.length > 1 && first) {
    parameters.set('host', first.host);
    parameters.set('port', String(first.port));
  }
  checkSslMode(parameters);
  // PgBouncer refuses it by default, and the statements name their schema.
  if (!isPooled) selectSchema(parameters, effectiveSchema);

  const database = decode(parsed.pathname.slice(1)) || user;
  const description = `${database} at ${servers.map(nameOfServer).join()}${user && ` as ${user}`}`;
  return {
    connectionString: parsed.href,
    servers,
    target,
    schema: effectiveSchema,
    user,
    keepsStatements,
    isPooled,
    readPassword,
    description,
    place: `schema ${effectiveSchema} of database ${description}`,
    warnings,
  };
}

export function nameOfServer({ host, port }: DatabaseServer): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function logWarnings({ warnings }: DatabaseUrl): void {
  for (const warning of warnings) new Logger('Database').warn(warning);
}

/** One URL for each of the servers, as the URL class knows no lists of them. */
function splitHosts(url: string): [URL, ...URL[]] {
  const [, before = '', servers = '', after = ''] = AUTHORITY.exec(url) ?? [];
  return servers.split(',').map((host) => parseUrl(before + host + after)) as [URL, ...URL[]];
}

/** As libpq does: the parameters count before the rest of the URL, and one port may be for all servers. */
function findServers(urls: [URL, ...URL[]]): DatabaseServer[] {
  const parameters = urls[0].searchParams;
  const names =
    parameters.get('host')?.split(',') ?? urls.map(({ hostname }) => decode(hostname).replace(/^\[(.+)\]$/, '$1'));
  const ports = parameters.get('port')?.split(',') ?? urls.map(({ port }) => port);
  if (ports.length > 1 && ports.length !== names.length)
    throw new Error('must have one port for all hosts, or one for each');
  return names.map((host, index) => {
    const port = Number((ports[index] ?? ports[0] ?? '') || (process.env.PGPORT ?? '5432'));
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('must have ports from 1 to 65535');
    return { host: host || 'localhost', port };
  });
}

/** Returns a warning about those without effect. Throws if there are others than pg, libpq and Prisma know. */
function checkParameters(parameters: URLSearchParams): string[] {
  const names = [...new Set(parameters.keys())];
  const unknown = names.find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw new Error(describeUnknown(unknown, parameters));
  const ignored = names.filter((name) => IGNORED.includes(name)).join(', ');
  const advice = 'docs/configuration.md says what to use instead';
  return ignored === '' ? [] : [`Parameters in the URL of the database have no effect: ${ignored}. ${advice}`];
}

function describeUnknown(name: string, parameters: URLSearchParams): string {
  // It may be the end of a secret with an & in it.
  const isSafe = /^\w+$/.test(name) && !parameters.has('password') && !parameters.has('sslpassword');
  const nearest = findNearest(name, KNOWN);
  const advice = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  return `has ${isSafe ? `the parameter ${name}` : 'a parameter'} that neither PostgreSQL nor Prisma knows${advice}`;
}

function parseUrl(url: string): URL {
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
