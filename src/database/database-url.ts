import pg from 'pg';

/** The schema that PostgreSQL makes in every database. */
export const DEFAULT_SCHEMA = 'public';

/** A database, for pg and for Prisma's adapter. */
export interface DatabaseUrl {
  /** For a pg Client or Pool: holds the password and selects the schema. */
  readonly connectionString: string;
  readonly schema: string;
  /** The role; empty where the URL leaves it to pg. */
  readonly user: string;
  /** Whether a connection keeps prepared statements: not behind a pooler that the URL declares, as it does for Prisma. */
  readonly keepsStatements: boolean;
  /** Whether the URL declares a pooler that gives each transaction another session. */
  readonly isPooled: boolean;
  /** For people: database, host, port and user, never the password. */
  readonly description: string;
}

const PROTOCOL = /^postgres(ql)?:\/\//;
/** The URL class refuses a URL with credentials but no host; pg takes it for a local server. */
const NO_HOST = /^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?#:]|$)/;
const MAX_IDENTIFIER_BYTES = 63;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** Modes that pg treats as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
const PRISMA_PARAMETERS = [
  'schema',
  'connection_limit',
  'pool_timeout',
  'socket_timeout',
  'single_use_connections',
  'statement_cache_size',
  'pgbouncer',
  'sslaccept',
  'sslidentity',
  'sslpassword',
];

/**
 * Reads a PostgreSQL URL. The password may come separately, not encoded, and `schema` overrides the URL's. Errors repeat nothing of
 * the input, which is a secret as a whole.
 */
export function parseDatabaseUrl(url: string, password?: string, schema?: string): DatabaseUrl {
  const parsed = parseUrl(url);
  const parameters = parsed.searchParams;
  const user = parameters.get('user') ?? decode(parsed.username);
  const effectiveSchema = checkSchema(schema ?? parameters.get('schema') ?? DEFAULT_SCHEMA);

  parsed.password = encodeURIComponent(
    onlyPassword([decode(parsed.password), parameters.get('password') ?? '', password ?? '']),
  );
  const isPooled = parameters.get('pgbouncer') === 'true';
  const keepsStatements = !isPooled && parameters.get('statement_cache_size') !== '0';
  for (const name of [...PRISMA_PARAMETERS, 'password']) parameters.delete(name);
  checkSslMode(parameters);
  // PgBouncer refuses it by default, and the statements name their schema.
  if (!isPooled) selectSchema(parameters, effectiveSchema);

  const database = decode(parsed.pathname.slice(1)) || user;
  const host = parameters.get('host') ?? decode(parsed.hostname);
  const port = parameters.get('port') ?? (parsed.port || '5432');
  return {
    connectionString: parsed.href,
    schema: effectiveSchema,
    user,
    keepsStatements,
    isPooled,
    description: `${database} at ${host}:${port}${user && ` as ${user}`}`,
  };
}

function parseUrl(url: string): URL {
  const complete = url.replace(NO_HOST, '$1localhost');
  if (PROTOCOL.test(url) && URL.canParse(complete)) {
    const parsed = new URL(complete);
    // Behind the host, an @ or # is most likely a password's, cut in two by a character that was not encoded.
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
  if (others.length > 0) {
    throw new Error('holds a password other than the one given separately: leave one of them out');
  }
  return first;
}

/** Whether the URL itself says which schema is meant. */
export function namesSchema(url: string): boolean {
  return /[?&]schema=/.test(url);
}

/** Throws where PostgreSQL would refuse the name, cut it short, or take it for another. */
export function checkSchema(schema: string): string {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0')) {
    throw new Error(`must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`);
  }
  // In a search_path it is the schema of the user who is connected, between quotes too.
  if (schema === '$user') throw new Error('must not be $user, which PostgreSQL takes for the name of the user');
  return schema;
}

function checkSslMode(parameters: URLSearchParams): void {
  const mode = parameters.get('sslmode');
  if (mode === null) return;
  if (!SSL_MODES.includes(mode)) throw new Error(`must have an sslmode out of ${SSL_MODES.join(', ')}`);
  // The meaning is the same, without the warning.
  if (SSL_ALIASES.includes(mode) && parameters.get('uselibpqcompat') !== 'true') {
    parameters.set('sslmode', 'verify-full');
  }
}

/** The server selects the default schema by itself, and connection poolers refuse to pass on `search_path`. */
function selectSchema(parameters: URLSearchParams, schema: string): void {
  if (schema === DEFAULT_SCHEMA) return;
  const searchPath = pg.escapeIdentifier(schema).replace(/[\s\\]/g, '\\$&');
  const options = [parameters.get('options') ?? '', `-c search_path=${searchPath}`];
  parameters.set('options', options.join(' ').trim());
}
