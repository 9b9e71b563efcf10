import type { LogLevel } from '@nestjs/common';
import { AuthSettings, HttpUrl, MAX_RATE_LIMIT } from '../auth/auth.options.js';
import { accessTokensFault } from '../auth/static-tokens.js';
import { withoutTokens } from '../auth/tokens/token.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import { DEFAULT_POOL_SIZE, DEFAULT_TIMEOUT, MAX_POOL_SIZE, PostgresUrl } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { MAX_BODY_LIMIT, MAX_QUEUE_LIMIT, PlantsExtras, PlantsSettings } from '../plants/plants.options.js';
import { DAY_MS, faultsByName, Milliseconds, Rule, Should, Text, WholeNumber } from '../util/options.js';
import { MAX_TIMER_MS } from '../util/timing.js';
import { ConfigurationError } from './config-error.js';
import {
  CorsOrigins,
  describeVariables,
  findNearMisses,
  findVariable,
  Host,
  isHostName,
  readVariable,
  Texts,
  Trimmed,
  TrustedProxies,
  Variable,
  Word,
} from './config-values.js';

/** What is the same for a host: the defaults of the modules. */
const PLANTS = new PlantsSettings();
const AUTH = new AuthSettings();

const MAX_CONNECTIONS = 1_000_000;
const isSetWithout = (variable: string): string => `is set without ${variable}: should be left out, or that set`;
const EVERY_ADDRESS = ['0.0.0.0', '::'];

function hostsOverlap({ host, managementHost }: Environment): boolean {
  return host === managementHost || [host, managementHost].some((name) => EVERY_ADDRESS.includes(name));
}

/** What means nothing without another variable. */
function OnlyWith(property: 'jwtIssuer' | 'migrationDatabaseUrl', variable: string): PropertyDecorator {
  return Rule<Environment>((value, environment) =>
    value !== undefined && environment[property] === undefined ? isSetWithout(variable) : undefined,
  );
}

/** The configuration of the process: each property with its variable, its explanation, its default and its rules. */
export class Environment {
  @Variable('NODE_ENV', 'With "production" the service refuses to start without a database, and makes no access token.')
  @Should(
    '"production" if that is meant: any other value is not taken for it',
    (name) => name === 'production' || !/^prod(uction)?$/i.test(String(name)),
  )
  nodeEnv = 'development';

  @Variable('PORT', 'Port of the public listener; 0 takes any free one.')
  @WholeNumber(0, 65535)
  port = 3000;

  @Variable('HOST', 'Address that the public listener binds to; with the embedded database 127.0.0.1 by default.')
  @Host()
  host = '0.0.0.0';

  @Variable('BASE_PATH', 'Prefix of /plants, such as /api/v1; none by default.')
  @Text(
    'a path like /api/v1: it starts with "/", does not end with one, and its parts are made of letters, digits and -._~',
    /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/,
  )
  basePath = '';

  @Variable(
    'DATABASE_URL',
    'URL of the PostgreSQL database, with sslmode and schema as parameters; outside production an embedded server by default.',
    { secret: true },
  )
  @Trimmed()
  @PostgresUrl(({ databasePassword }: Environment) => databasePassword, false)
  @Rule<Environment>((url, { production }) =>
    url === undefined && production
      ? 'is missing, in production it should be the URL of a PostgreSQL database (or DATABASE_URL_FILE a file that holds it)'
      : undefined,
  )
  databaseUrl?: string;

  @Variable('DATABASE_PASSWORD', 'Password of the database, if DATABASE_URL does not hold it.', { secret: true })
  databasePassword?: string;

  @Variable(
    'MIGRATION_DATABASE_URL',
    'URL of the same database for "plant-store migrate": as the owner of the tables, and not through a pooler; DATABASE_URL by default.',
    { secret: true },
  )
  @Trimmed()
  @PostgresUrl(({ migrationDatabasePassword }: Environment) => migrationDatabasePassword, false)
  migrationDatabaseUrl?: string;

  @Variable('MIGRATION_DATABASE_PASSWORD', 'Password for MIGRATION_DATABASE_URL, if that does not hold it.', {
    secret: true,
  })
  @OnlyWith('migrationDatabaseUrl', 'MIGRATION_DATABASE_URL')
  migrationDatabasePassword?: string;

  @Variable('DATABASE_POOL_SIZE', 'Maximum number of connections to the database.')
  @WholeNumber(1, MAX_POOL_SIZE)
  databasePoolSize = DEFAULT_POOL_SIZE;

  @Variable('STORAGE_TIMEOUT', 'Milliseconds that a request waits for the database before it fails.')
  @Milliseconds()
  storageTimeout = DEFAULT_TIMEOUT;

  @Variable(
    'ACCESS_TOKENS',
    'Static bearer tokens, in addition to those that "plant-store token" issues: separated by commas or white space, each at least 20 characters.',
    { secret: true },
  )
  @Texts()
  @Rule((tokens) => accessTokensFault(tokens as string[]))
  accessTokens: string[] = [];

  @Variable('JWT_ISSUER', 'URL of an OpenID Connect issuer whose JWTs are access tokens, exactly as in their "iss".')
  @HttpUrl()
  jwtIssuer?: string;

  @Variable('JWT_AUDIENCE', 'Accepted "aud" of a JWT; several are separated by commas. Required with JWT_ISSUER.')
  @Rule<Environment>((audiences, { jwtIssuer }) => {
    const isMissing = (audiences as string[]).length === 0;
    if (jwtIssuer === undefined) return isMissing ? undefined : isSetWithout('JWT_ISSUER');
    return isMissing ? 'is missing, should be what the issuer puts into the "aud" of JWTs for this service' : undefined;
  })
  jwtAudience: string[] = [];

  @Variable('JWT_JWKS_URL', "URL of the issuer's keys; by default the one that its discovery document names.")
  @OnlyWith('jwtIssuer', 'JWT_ISSUER')
  @HttpUrl({ query: true })
  jwtJwksUrl?: string;

  @Variable('JWT_TYP', 'Required "typ" of a JWT: at+jwt, that of RFC 9068; by default it may also be JWT or missing.')
  @OnlyWith('jwtIssuer', 'JWT_ISSUER')
  @Word({ 'at+jwt': 'at+jwt' })
  jwtTyp?: 'at+jwt';

  @Variable(
    'WRONG_TOKEN_LIMIT',
    'Wrong access tokens that one address may send per minute; more are answered with 42900. 0 means no limit.',
  )
  @WholeNumber(0, MAX_RATE_LIMIT)
  wrongTokenLimit = AUTH.wrongTokenLimit;

  @Variable('RATE_LIMIT', 'Requests per minute with one access token; more are answered with 42900. 0 means no limit.')
  @WholeNumber(0, MAX_RATE_LIMIT)
  rateLimit = AUTH.rateLimit;

  @Variable(
    'TRUST_PROXY',
    'Proxies whose X-Forwarded-For gives the address of a client: their number, or their addresses and networks, separated by commas; none by default.',
  )
  @TrustedProxies()
  trustProxy: number | string[] = [];

  @Variable('BODY_LIMIT', 'Maximum size of a request body in bytes, decompressed.')
  @WholeNumber(1, MAX_BODY_LIMIT, 'a whole number of bytes')
  bodyLimit = PLANTS.bodyLimit;

  @Variable('WRITE_QUEUE_LIMIT', 'Maximum number of creates that wait for the database; more are answered with 50301.')
  @WholeNumber(1, MAX_QUEUE_LIMIT)
  writeQueueLimit = PLANTS.writeQueueLimit;

  @Variable(
    'ERROR_STATUS',
    'Status of failures: "contract" answers 400 to all of them, "semantic" the status that plain HTTP would use.',
  )
  @Word({ contract: 'contract', semantic: 'semantic' } satisfies Record<ErrorStatus, ErrorStatus>)
  errorStatus = new PlantsExtras().errorStatus;

  @Variable(
    'MANAGEMENT_PORT',
    'Port of the management listener (/livez, /readyz, /metrics, /info); 0 takes any free one.',
  )
  @WholeNumber(0, 65535)
  @Rule<Environment>((port, environment) =>
    port === environment.port && port !== 0 && hostsOverlap(environment)
      ? `is ${String(port)}, as PORT is, should be another port`
      : undefined,
  )
  managementPort = 9464;

  @Variable('MANAGEMENT_HOST', 'Address that the management listener binds to.')
  @Host()
  managementHost = '127.0.0.1';

  @Variable(
    'MANAGEMENT_HOSTS',
    'Names that the management listener may be asked by, separated by commas, in addition to localhost and any IP address.',
  )
  @Should('host names without ports, separated by commas', (names) => (names as string[]).every(isHostName))
  managementHosts: string[] = [];

  @Variable(
    'SHUTDOWN_TIMEOUT',
    'Milliseconds that a stop may take, DRAIN_DELAY included; what is open then is cut off.',
  )
  @Milliseconds()
  shutdownTimeout = 10_000;

  @Variable(
    'DRAIN_DELAY',
    'Milliseconds to go on accepting connections after the signal to stop, for load balancers to notice that /readyz is 503.',
  )
  @Rule<Environment>((delay, { shutdownTimeout }) =>
    Number(delay) > shutdownTimeout
      ? `is ${String(delay)}, more than SHUTDOWN_TIMEOUT (${shutdownTimeout}): should be at most that, which includes it`
      : undefined,
  )
  @WholeNumber(0, DAY_MS, 'a whole number of milliseconds')
  drainDelay = 0;

  @Variable(
    'MAX_CONNECTIONS',
    'Maximum number of open client connections; beyond it the newest is closed at once. Lowered to what the descriptor limit allows.',
  )
  @WholeNumber(1, MAX_CONNECTIONS)
  maxConnections = 10_000;

  @Variable('LOG_LEVEL', 'Minimum log level: fatal, error, warn, info, debug or trace.', { default: 'info' })
  @Word({
    fatal: 'fatal',
    error: 'error',
    warn: 'warn',
    info: 'log',
    log: 'log',
    debug: 'debug',
    trace: 'verbose',
    verbose: 'verbose',
  } satisfies Record<string, LogLevel>)
  logLevel: LogLevel = 'log';

  @Variable('LOG_FORMAT', 'Format of the log: json, or pretty, which is the default on a terminal.', {
    default: 'json',
  })
  @Word({ json: 'json', pretty: 'pretty' })
  logFormat: 'json' | 'pretty' = process.stdout.isTTY ? 'pretty' : 'json';

  @Variable(
    'LOG_REQUESTS',
    'Requests that are logged: off, failures (refusals and errors, at most ten a second of one error number) or all.',
  )
  @Word({ off: 'off', failures: 'failures', all: 'all' })
  logRequests: 'off' | 'failures' | 'all' = 'failures';

  @Variable('DOCS', 'Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off.', { default: 'on' })
  @Word({ on: true, off: false, true: true, false: false, '1': true, '0': false })
  docs = true;

  @Variable('CORS_ORIGINS', 'Origins of web pages that may call the service, separated by commas; none by default.')
  @CorsOrigins()
  corsOrigins: string[] = [];

  @Variable(
    'REQUEST_TIMEOUT',
    'Milliseconds for headers and body of a request to arrive, and how long a client may stop reading its answer.',
  )
  @Milliseconds(MAX_TIMER_MS)
  requestTimeout = 10_000;

  /** Where each variable comes from, as `readEnvironment` found it. */
  declare readonly settings: readonly Setting[];
  /** Variables that are none, but near to one: a line for each. */
  declare readonly nearMisses: readonly string[];

  get production(): boolean {
    return this.nodeEnv === 'production';
  }
}

/** Variables of earlier versions, which must not be ignored: the service would run otherwise than its operator means. */
const REMOVED = {
  WORKERS:
    'is not offered any more; run one process per container or unit behind a load balancer, and remove the variable',
};

/** A variable as people may see it: its value without secrets, and where that comes from. */
export interface Setting {
  readonly name: string;
  readonly value: string;
  /** `default`, `environment`, `.env`, or the variable that names a file, with its path. */
  readonly source: string;
  /** What is wrong with it, in a line that begins with the name of the variable. */
  readonly fault?: string | undefined;
}

/** Names of the variables that scripts/start.mjs has read from `.env`. */
const FROM_ENV_FILE = 'PLANT_STORE_ENV_FILE';

/** Reads the configuration from environment variables, whether or not it can be used: `settings` say what is wrong with it. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const environment = new Environment();
  const described = describeVariables(Environment);
  const sources = described.map((variable) => ({ ...variable, found: findVariable(variable, variables) }));
  for (const { property, found } of sources) {
    if (found.text === undefined) continue;
    Object.assign(environment, { [property]: readVariable(environment, property, found.text) });
  }
  // The embedded database is for one developer.
  const isHostGiven = sources.some(({ name, found }) => name === 'HOST' && found.text !== undefined);
  if (!isHostGiven && environment.databaseUrl === undefined && !environment.production) environment.host = '127.0.0.1';
  const invalid = faultsByName(environment);
  const envFile = (variables[FROM_ENV_FILE] ?? '').split(',');

  const settings = sources.map(({ name, property, secret, found, default: initial }): Setting => {
    // What could not be read has its default, and so would be called missing as well.
    const fault = found.fault ?? invalid.get(property);
    const direct = envFile.includes(found.name) ? '.env' : 'environment';
    // A path that cannot be read may be the secret itself.
    const path = found.fault === undefined ? ` (${(variables[found.name] ?? '').trim()})` : '';
    const isDefault = found.text === undefined && found.fault === undefined;
    return {
      name,
      value: isDefault ? (name === 'HOST' ? environment.host : initial) : shownValue(name, secret, found.text),
      source: isDefault ? 'default' : found.name === name ? direct : `${found.name}${path}`,
      fault: fault === undefined ? undefined : `${found.name}: ${fault}`,
    };
  });
  for (const [name, fault] of Object.entries(REMOVED)) {
    const value = (variables[name] ?? '').trim();
    if (value !== '') settings.push({ name, value, source: 'environment', fault: `${name}: ${fault}` });
  }
  // Not enumerable: all other properties are variables.
  return Object.defineProperties(environment, {
    settings: { value: settings },
    nearMisses: { value: findNearMisses(described, variables) },
  });
}

/** Nothing of a secret: of the URL of a database, which database it is; of other URLs neither user nor query. */
function shownValue(name: string, secret: boolean, text = ''): string {
  if (!secret) return withoutTokens(text.replace(/:\/\/[^/\s]*@/g, '://…@').replace(/(?<=:.*)\?.*/s, '?…'));
  try {
    return name.endsWith('_URL') ? parseDatabaseUrl(text.trim()).description : '(set)';
  } catch {
    return '(set)';
  }
}

/**
 * Reads the configuration from environment variables.
 *
 * @throws {ConfigurationError} naming every fault at once; it shows no secret
 */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const environment = readEnvironment(variables);
  const faults = environment.settings.flatMap(({ fault }) => fault ?? []);
  // What is missing may be there by a name that is misspelled.
  if (faults.length > 0) throw new ConfigurationError([...faults, ...environment.nearMisses]);
  return environment;
}
