import { Logger } from '@nestjs/common';
import pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { ExplainedError, reasonOf, rootReasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { MigrationError } from './database.errors.js';
import type { Query } from './store-pool.js';

export const DEFAULT_SCHEMA = 'public';

/** A parsed URL. */
export interface DatabaseUrl {
  /** The configuration for a client or a pool of pg. It holds the password. */
  readonly config: pg.ClientConfig;
  readonly schema: string;
  /** The role; empty if the URL names none. */
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

/** User and password, host, path, parameters. A later @ or # is probably part of the password and should be encoded. */
const URL_PARTS = /^postgres(?:ql)?:\/\/([^/?#]*@)?([^/?#@]*)(\/[^?#@]*)?(?:\?([^#@]*))?$/;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** pg treats these modes as verify-full, with a warning on stderr. */
const SSL_ALIASES = ['prefer', 'require', 'verify-ca'];
/** pg obeys these as libpq or node-postgres documents them. */
const OBEYED_BY_PG = (
  'application_name host idle_in_transaction_session_timeout lock_timeout options password port ssl sslcert sslkey sslmode ' +
  'sslnegotiation sslrootcert uselibpqcompat user'
).split(' ');
/** The store obeys these itself. pg would take some of them for its own options, so it does not get them. */
const OBEYED_HERE = ['dbname', 'pgbouncer', 'schema', 'statement_cache_size'];
/** libpq, Prisma or pg know these, but the store does not obey them. */
const IGNORED = (
  'binary channel_binding client_encoding connect_timeout connection_limit fallback_application_name gssdelegation gssencmode gsslib ' +
  'hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts max_connection_lifetime ' +
  'max_idle_connection_lifetime max_protocol_version min_protocol_version oauth_client_id oauth_client_secret oauth_issuer oauth_scope ' +
  'passfile pool_timeout query_timeout replication require_auth requirepeer requiressl scram_client_key scram_server_key service ' +
  'servicefile single_use_connections socket_timeout ssl_max_protocol_version ssl_min_protocol_version sslaccept sslcertmode ' +
  'sslcompression sslcrl sslcrldir sslidentity sslkeylogfile sslpassword sslsni statement_timeout tcp_user_timeout'
).split(' ');
/** NAMEDATALEN of PostgreSQL is 64, with the final zero. */
const MAX_IDENTIFIER_BYTES = 63;
const MAX_PORT = 65_535;
const ONE_SERVER = 'give one address that leads to the primary, such as that of HAProxy';

const NO_URL =
  'must be a PostgreSQL URL such as postgresql://user@host:5432/plants, with special characters percent-encoded (% is %25)';

/**
 * Parses a PostgreSQL URL. `password` is not encoded, and `schema` overrides that of the URL. The whole URL is a
 * secret, so errors repeat no part of it.
 */
export function parseDatabaseUrl(url: string, password = '', schema?: string): DatabaseUrl {
  const [matched, credentials = '', host = '', path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  if (matched === undefined) throw new Error(NO_URL);
  const parameters = new URLSearchParams(query);
  checkParameters(host, parameters);
  // No host means a local server, as for libpq. pg-connection-string decodes spaces wrongly.
  const address = `${credentials}${host.replace(/^(?=:|$)/, 'localhost')}${path}`.replaceAll(' ', '%20');
  const obeyed = new URLSearchParams([...parameters].filter(([name]) => OBEYED_BY_PG.includes(name)));
  const isAlias = SSL_ALIASES.includes(obeyed.get('sslmode') ?? '') && obeyed.get('uselibpqcompat') !== 'true';
  // This has the same meaning without the warning.
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
    schemaDescription: `schema ${chosenSchema} of database ${description}`,
    ignored: IGNORED.filter((name) => parameters.has(name)),
  };
}

export function logWarnings({ ignored }: DatabaseUrl): void {
  if (ignored.length === 0) return;
  const found = `Parameters in the URL of the database have no effect: ${ignored.join(', ')}`;
  new Logger('Database').warn(`${found}. docs/configuration.md says what to use instead`);
}

/** Throws on several servers, an unknown sslmode, or a parameter that pg, libpq and Prisma do not know. */
function checkParameters(host: string, parameters: URLSearchParams): void {
  if ([host, parameters.get('host'), parameters.get('port')].some((list) => list?.includes(',')))
    throw new Error(`names several servers: ${ONE_SERVER}`);
  const port = Number(parameters.get('port') ?? 5432);
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) throw new Error(`must have a port from 1 to ${MAX_PORT}`);
  if (!SSL_MODES.includes(parameters.get('sslmode') ?? 'prefer'))
    throw new Error(`must have an sslmode out of ${SSL_MODES.join(', ')}`);
  if (parameters.has('target_session_attrs')) throw new Error(`has the parameter target_session_attrs: ${ONE_SERVER}`);
  const unknown = [...parameters.keys()].find((name) => ![...OBEYED_BY_PG, ...OBEYED_HERE, ...IGNORED].includes(name));
  if (unknown === undefined) return;
  // The name may be the end of a secret that contains an &.
  const isSafe = /^\w+$/.test(unknown) && !parameters.has('password') && !parameters.has('sslpassword');
  const found = isSafe ? `the parameter ${unknown}` : 'a parameter';
  throw new Error(`has ${found} that neither PostgreSQL nor Prisma knows`);
}

function readByPg(url: string): pg.ClientConfig {
  let fault: NodeJS.ErrnoException;
  try {
    // This throws on a percent sign that is not encoded. The parser would guess.
    decodeURIComponent(url);
    return parseIntoClientConfig(url);
  } catch (error) {
    fault = error as NodeJS.ErrnoException;
  }
  // The cause holds the whole URL or the path, so it is left out.
  throw new Error(fault.syscall ? `names a certificate or a key that cannot be read (${fault.code})` : NO_URL);
}

/** Explains why PostgreSQL would refuse, shorten or misread this name; undefined if it would not. */
export function schemaFault(schema: string): string | undefined {
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER_BYTES || schema.includes('\0'))
    return `must name a schema of 1 to ${MAX_IDENTIFIER_BYTES} bytes, or none for ${DEFAULT_SCHEMA}`;
  // In a search_path, $user means the schema of the current user, even between quotes.
  return schema === '$user' ? 'must not be $user, which PostgreSQL takes for the name of the user' : undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;
const NO_PASSWORD = /^SASL: .*client password must be.*/;

/**
 * Runs `work` on a connection of its own. `timeout` limits each statement, in milliseconds.
 * @throws MigrationError if the connection fails or the server refuses a statement
 */
export async function withConnection<T>(
  { config, description, schemaDescription }: DatabaseUrl,
  work: (query: Query) => Promise<T>,
  { timeout }: { timeout?: number } = {},
): Promise<T> {
  const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: timeout };
  const client = new pg.Client({ ...config, keepAlive: true, ...limits });
  // A lost connection fails its statements too. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    // Without a password, pg would leave the connection open until the server ends it after a minute.
    void client.end();
    const reason = reasonOf(cause).replace(NO_PASSWORD, 'the server wants a password, and none is given');
    throw new MigrationError('unreachable', `cannot connect to database ${description}: ${reason}`, { cause });
  }
  try {
    return await work(async (sql, values = []) => (await client.query(sql, [...values])).rows as never);
  } catch (cause) {
    if (cause instanceof ExplainedError) throw cause;
    throw new MigrationError('refused', `${schemaDescription}: ${rootReasonOf(cause)}`, { cause });
  } finally {
    // The work is done, so it does not wait for a broken network.
    const timeUp = (): Error => new Error('the server does not close the connection');
    await withinTime(client.end(), CLOSE_TIMEOUT_MS, timeUp).catch(() => {
      (client as unknown as { unref(): void }).unref();
    });
  }
}
