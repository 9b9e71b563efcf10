import type { LogLevel } from '@nestjs/common';
import { HttpUrl } from '../auth/auth.options.js';
import { accessTokensFault } from '../auth/static-tokens.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT, PoolSize, PostgresUrl } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { BodyLimit, PlantsRouteOptions, PlantsOptions, QueueLimit } from '../plants/plants.options.js';
import { faultsByName, Matching, Milliseconds, Rule, Should, WholeNumber } from '../util/options.js';
import { MAX_TIMER_MS } from '../util/timing.js';
import { ConfigurationError } from './config-error.js';
import {
  describeVariables,
  findVariable,
  HostAddress,
  PortNumber,
  readVariable,
  Secret,
  Texts,
  Trimmed,
  Variable,
  variableOf,
  Word,
} from './config-values.js';

/** What is the same for a host: the defaults of the modules. */
const PLANTS = new PlantsOptions();

const EVERY_ADDRESS = ['0.0.0.0', '::'];

function hostsOverlap({ host, managementHost }: Environment): boolean {
  return host === managementHost || [host, managementHost].some((name) => EVERY_ADDRESS.includes(name));
}

const isUnset = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0);

/** What means nothing without another variable. */
function OnlyWith(property: 'jwtIssuer' | 'migrationDatabaseUrl'): PropertyDecorator {
  return Rule<Environment>((value, environment) =>
    !isUnset(value) && environment[property] === undefined
      ? `is set without ${variableOf(property)}: should be left out, or that set`
      : undefined,
  );
}

/** The configuration of the process: each property with its variable, its explanation, its default and its rules. */
export class Environment {
  @Variable('With "production" the service refuses to start without a database, and makes no access token.')
  @Should(
    '"production" if that is meant: any other value is not taken for it',
    (name) => name === 'production' || !/^prod(uction)?$/i.test(String(name)),
  )
  nodeEnv = 'development';
  @Variable('Port of the public listener; 0 takes any free one.')
  @PortNumber
  port = 3000;
  @Variable('Address that the public listener binds to; with the embedded database 127.0.0.1 by default.')
  @HostAddress
  host = '0.0.0.0';
  @Variable('Prefix of /plants, such as /api/v1; none by default.')
  @Matching(
    'a path like /api/v1: it starts with "/", does not end with one, and its parts are made of letters, digits and -._~',
    /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/,
  )
  basePath = '';
  @Secret(
    'URL of the PostgreSQL database, with sslmode and schema as parameters; outside production an embedded server by default.',
  )
  @Trimmed
  @PostgresUrl('databasePassword', false)
  @Rule<Environment>((url, { production }) =>
    url === undefined && production
      ? 'is missing, in production it should be the URL of a PostgreSQL database (or DATABASE_URL_FILE a file that holds it)'
      : undefined,
  )
  databaseUrl?: string;
  @Secret('Password of the database, if DATABASE_URL does not hold it.')
  databasePassword?: string;
  @Secret('URL of the same database for "plant-store migrate": as the owner of the tables; DATABASE_URL by default.')
  @Trimmed
  @PostgresUrl('migrationDatabasePassword', false)
  migrationDatabaseUrl?: string;
  @Secret('Password for MIGRATION_DATABASE_URL, if that does not hold it.')
  @OnlyWith('migrationDatabaseUrl')
  migrationDatabasePassword?: string;
  @Variable('Maximum number of connections to the database.')
  @PoolSize
  databasePoolSize = DEFAULT_POOL_SIZE;
  @Variable('Milliseconds that a request waits for the database before it fails.')
  @Milliseconds()
  storageTimeout = DEFAULT_STORAGE_TIMEOUT;
  @Secret(
    'Static bearer tokens, in addition to those that "plant-store token" issues: separated by commas or white space, each at least 20 characters.',
  )
  @Texts
  @Rule((tokens) => accessTokensFault(tokens as string[]))
  accessTokens: string[] = [];
  @Variable('URL of an OpenID Connect issuer whose JWTs are access tokens, exactly as in their "iss".')
  @HttpUrl()
  jwtIssuer?: string;
  @Variable('Accepted "aud" of a JWT; several are separated by commas. Required with JWT_ISSUER.')
  @OnlyWith('jwtIssuer')
  @Rule<Environment>((audiences, { jwtIssuer }) =>
    jwtIssuer !== undefined && isUnset(audiences)
      ? 'is missing, should be what the issuer puts into the "aud" of JWTs for this service'
      : undefined,
  )
  jwtAudience: string[] = [];
  @Variable("URL of the issuer's keys; by default the one that its discovery document names.")
  @OnlyWith('jwtIssuer')
  @HttpUrl({ query: true })
  jwtJwksUrl?: string;
  @Variable('Required "typ" of a JWT: at+jwt, that of RFC 9068; by default it may also be JWT or missing.')
  @OnlyWith('jwtIssuer')
  @Word({ 'at+jwt': 'at+jwt' })
  jwtTyp?: 'at+jwt';
  @Variable('Maximum size of a request body in bytes.')
  @BodyLimit
  bodyLimit = PLANTS.bodyLimit;
  @Variable('Maximum number of creates that wait for the database; more are answered with 50301.')
  @QueueLimit
  writeQueueLimit = PLANTS.writeQueueLimit;
  @Variable(
    'Status of failures: "contract" answers 400 to all of them, "semantic" the status that plain HTTP would use.',
  )
  @Word({ contract: 'contract', semantic: 'semantic' } satisfies Record<ErrorStatus, ErrorStatus>)
  errorStatus = new PlantsRouteOptions().errorStatus;
  @Variable('Port of the management listener (/livez, /readyz, /metrics); 0 takes any free one.')
  @PortNumber
  @Rule<Environment>((port, environment) =>
    port === environment.port && port !== 0 && hostsOverlap(environment)
      ? `is ${String(port)}, as PORT is, should be another port`
      : undefined,
  )
  managementPort = 9464;
  @Variable('Address that the management listener binds to.')
  @HostAddress
  managementHost = '127.0.0.1';
  @Variable('Milliseconds that a stop may take, DRAIN_DELAY included; what is open then is cut off.')
  @Milliseconds()
  shutdownTimeout = 10_000;
  @Variable(
    'Milliseconds to go on accepting connections after the signal to stop, for load balancers to notice that /readyz is 503.',
  )
  @Rule<Environment>((delay, { shutdownTimeout }) =>
    Number(delay) > shutdownTimeout
      ? `is ${String(delay)}, more than SHUTDOWN_TIMEOUT (${shutdownTimeout}): should be at most that, which includes it`
      : undefined,
  )
  @Milliseconds(0)
  drainDelay = 0;
  @Variable(
    'Maximum number of open client connections; beyond it the newest is closed at once. Lowered to what the descriptor limit allows.',
  )
  @WholeNumber(1, 1_000_000)
  maxConnections = 10_000;
  @Variable('Minimum log level: fatal, error, warn, info, debug or trace.', 'info')
  @Word({ fatal: 'fatal', error: 'error', warn: 'warn', info: 'log', debug: 'debug', trace: 'verbose' })
  logLevel: LogLevel = 'log';
  @Variable(
    'Requests that are logged: off, failures (refusals and errors, at most ten a second of one error number) or all.',
  )
  @Word({ off: 'off', failures: 'failures', all: 'all' })
  logRequests: 'off' | 'failures' | 'all' = 'failures';
  @Variable('Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off.', 'on')
  @Word({ on: true, off: false, true: true, false: false, '1': true, '0': false })
  docs = true;
  @Variable(
    'Milliseconds for headers and body of a request to arrive, and how long a client may stop reading its answer.',
  )
  @Milliseconds(1, MAX_TIMER_MS)
  requestTimeout = 10_000;

  /** What is wrong with it: a line for each variable, which begins with its name. */
  declare readonly faults: readonly string[];

  get production(): boolean {
    return this.nodeEnv === 'production';
  }
}

/** Reads the configuration from environment variables, whether or not it can be used: `faults` say what is wrong with it. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const environment = new Environment();
  const sources = describeVariables(Environment).map((variable) => ({
    ...variable,
    found: findVariable(variable, variables),
  }));
  for (const { property, found } of sources)
    if (found.text !== undefined) Reflect.set(environment, property, readVariable(environment, property, found.text));
  // The embedded database is for one developer.
  const isHostGiven = sources.some(({ name, found }) => name === 'HOST' && found.text !== undefined);
  if (!isHostGiven && environment.databaseUrl === undefined && !environment.production) environment.host = '127.0.0.1';
  const invalid = faultsByName(environment);
  const faults = sources.flatMap(({ property, found }) => {
    // What could not be read has its default, and so would be called missing as well.
    const fault = found.fault ?? invalid.get(property);
    return fault === undefined ? [] : `${found.name}: ${fault}`;
  });
  // Not enumerable: all other properties are variables.
  return Object.defineProperty(environment, 'faults', { value: faults });
}

/** Reads the configuration. @throws ConfigurationError naming every fault at once; it shows no secret */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const environment = readEnvironment(variables);
  if (environment.faults.length > 0) throw new ConfigurationError(environment.faults);
  return environment;
}
