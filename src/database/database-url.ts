import { Logger } from '@nestjs/common';
import pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { ExplainedError, reasonOf, rootReasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { MigrationError } from './database.errors.js';
import type { Query } from './database.js';

/** The schema that PostgreSQL makes in every database. */
export const DEFAULT_SCHEMA = 'public';

/** What a URL says. */
export interface DatabaseUrl {
  /** For a client or a pool of pg. It holds the password. */
  readonly config: pg.ClientConfig;
  readonly schema: string;
  /** The role; empty if the URL leaves it to pg. */
  readonly user: string;
  /** Whether it declares a pooler that gives each transaction another session, as for Prisma. */
  readonly isPooled: boolean;
  /** For people: database, server, port and user, never the password. */
  readonly description: string;
  /** For people: the schema and its database. */
  readonly place: string;
  /** Parameters that have no effect. */
  readonly ignored: readonly string[];
}

/** User and password, host, path, parameters. An @ or # further on is probably part of the password, and should be encoded. */
const URL_PARTS = /^postgres(?:ql)?:\/\/([^/?#]*@)?([^/?#@]*)(\/[^?#@]*)?(?:\?([^#@]*))?$/;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** Modes that pg treats as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
/** What pg does as libpq or node-postgres document it. */
const OBEYED_BY_PG = (
  'application_name host idle_in_transaction_session_timeout lock_timeout options password port ssl sslcert sslkey sslmode ' +
  'sslnegotiation sslrootcert uselibpqcompat user'
).split(' ');
/** Obeyed by the store itself. pg does not get them: it would take some for options of its own. */
const READ_HERE = ['dbname', 'pgbouncer', 'schema', 'statement_cache_size'];
/** What libpq, Prisma or pg know, and the store does not obey. */
const IGNORED = (
  'binary channel_binding client_encoding connect_timeout connection_limit fallback_application_name gssdelegation gssencmode gsslib ' +
  'hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts max_connection_lifetime ' +
  'max_idle_connection_lifetime max_protocol_version min_protocol_version oauth_client_id oauth_client_secret oauth_issuer oauth_scope ' +
  'passfile pool_timeout query_timeout replication require_auth requirepeer requiressl scram_client_key scram_server_key service ' +
  'servicefile single_use_connections socket_timeout ssl_max_protocol_version ssl_min_protocol_version sslaccept sslcertmode ' +
  'sslcompression sslcrl sslcrldir sslidentity sslkeylogfile sslpassword sslsni statement_timeout tcp_user_timeout'
).split(' ');
/** PostgreSQL's NAMEDATALEN, less the final zero. */
const MAX_IDENTIFIER_BYTES = 63;
const MAX_PORT = 65_535;
const ONE_SERVER = 'give one address that leads to the primary, such as that of HAProxy';

const NO_URL =
  'must be a PostgreSQL URL such as postgresql://user@host:5432/plants, with special characters percent-encoded (% is %25)';

/**
 * Reads a PostgreSQL URL. The password may come separately, not encoded, and `schema` overrides the URL's. Errors repeat nothing of
 * the input, which is a secret as a whole.
 */
export function parseDatabaseUrl(url: string, password = '', schema?: string): DatabaseUrl {
  const [matched, credentials = '', host = '', path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  if (matched === undefined) throw new Error(NO_URL);
  const parameters = new URLSearchParams(query);
  checkParameters(host, parameters);
  // To libpq, no host is a local server. pg-connection-string decodes what has spaces wrongly.
  const address = `${credentials}${host.replace(/^(?=:|$)/, 'localhost')}${path}`.replaceAll(' ', '%20');
  const obeyed = new URLSearchParams([...parameters].filter(([name]) => OBEYED_BY_PG.includes(name)));
  const isAlias = SSL_ALIASES.includes(obeyed.get('sslmode') ?? '') && obeyed.get('uselibpqcompat') !== 'true';
  // The meaning is the same, without the warning.
  if (isAlias) obeyed.set('sslmode', 'verify-full');
  const config = readByPg(`postgresql://${address}?${obeyed.toString()}`);
  config.database = parameters.get('dbname') ?? config.database;
  if (password !== '' && config.password !== '' && config.password !== password)
    throw new Error('holds a password other than the one given separately: leave one of them out');
  if (config.password === '') config.password = password;
  const user = config.user ?? '';
  const chosenSchema = schema ?? parameters.get('schema') ?? DEFAULT_SCHEMA;
  const fault = schemaFault(chosenSchema);
  if (fault !== undefined) throw new Error(fault);
  const server = `${config.host?.replace(/.*:.*/, '[$&]')}:${config.port ?? process.env.PGPORT ?? '5432'}`;
  const description = `${config.database ?? user} at ${server}${user && ` as ${user}`}`;
  return {
    config,
    schema: chosenSchema,
    user,
    isPooled: parameters.get('pgbouncer') === 'true' || parameters.get('statement_cache_size') === '0',
    description,
    place: `schema ${chosenSchema} of database ${description}`,
    ignored: IGNORED.filter((name) => parameters.has(name)),
  };
}

export function logWarnings({ ignored }: DatabaseUrl): void {
  if (ignored.length === 0) return;
  const found = `Parameters in the URL of the database have no effect: ${ignored.join(', ')}`;
  new Logger('Database').warn(`${found}. docs/configuration.md says what to use instead`);
}

/** Throws if there are others than pg, libpq and Prisma know, or several servers, or an unknown sslmode. */
function checkParameters(host: string, parameters: URLSearchParams): void {
  if ([host, parameters.get('host'), parameters.get('port')].some((list) => list?.includes(',')))
    throw new Error(`names several servers: ${ONE_SERVER}`);
  const port = Number(parameters.get('port') ?? 5432);
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) throw new Error(`must have a port from 1 to ${MAX_PORT}`);
  if (!SSL_MODES.includes(parameters.get('sslmode') ?? 'prefer'))
    throw new Error(`must have an sslmode out of ${SSL_MODES.join(', ')}`);
  if (parameters.has('target_session_attrs')) throw new Error(`has the parameter target_session_attrs: ${ONE_SERVER}`);
  const unknown = [...parameters.keys()].find((name) => ![...OBEYED_BY_PG, ...READ_HERE, ...IGNORED].includes(name));
  if (unknown === undefined) return;
  // It may be the end of a secret with an & in it.
  const isSafe = /^\w+$/.test(unknown) && !parameters.has('password') && !parameters.has('sslpassword');
  const found = isSafe ? `the parameter ${unknown}` : 'a parameter';
  throw new Error(`has ${found} that neither PostgreSQL nor Prisma knows`);
}

function readByPg(url: string): pg.ClientConfig {
  let fault: NodeJS.ErrnoException;
  try {
    // It throws if a percent sign is not encoded: what reads the URL would guess.
    decodeURIComponent(url);
    return parseIntoClientConfig(url);
  } catch (error) {
    fault = error as NodeJS.ErrnoException;
  }
  // Without the cause, which has the whole URL or the path.
  throw new Error(fault.syscall ? `names a certificate or a key that cannot be read (${fault.code})` : NO_URL);
}

/** Why PostgreSQL would refuse the name, cut it short, or take it for another; undefined if it takes it as it is. */
export function schemaFault(schema: string): string | undefined {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0'))
    return `must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`;
  // In a search_path it is the schema of the user who is connected, between quotes too.
  return schema === '$user' ? 'must not be $user, which PostgreSQL takes for the name of the user' : undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;
const NO_PASSWORD = /^SASL: .*client password must be.*/;

/**
 * Runs `work` on a connection of its own. With a `timeout`, each of its statements may take so many milliseconds.
 * @throws MigrationError if there is no connection, or the server refuses a statement
 */
export async function withConnection<T>(
  { config, description, place }: DatabaseUrl,
  work: (query: Query) => Promise<T>,
  { timeout }: { timeout?: number } = {},
): Promise<T> {
  const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: timeout };
  const client = new pg.Client({ ...config, keepAlive: true, ...limits });
  // A lost connection also fails what waits for it; without a listener, the event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    // Without a password, pg would leave the connection open until the server ends it, after a minute.
    void client.end();
    const reason = reasonOf(cause).replace(NO_PASSWORD, 'the server wants a password, and none is given');
    throw new MigrationError('unreachable', `cannot connect to database ${description}: ${reason}`, { cause });
  }
  try {
    return await work(async (sql, values) => (await client.query(sql, values)).rows as never);
  } catch (cause) {
    if (cause instanceof ExplainedError) throw cause;
    throw new MigrationError('refused', `${place}: ${rootReasonOf(cause)}`, { cause });
  } finally {
    // The work is done, and does not wait for a broken network.
    const timeUp = (): Error => new Error('the server does not close the connection');
    await withinTime(client.end(), CLOSE_TIMEOUT_MS, timeUp).catch(() => {
      (client as unknown as { unref(): void }).unref();
    });
  }
}
