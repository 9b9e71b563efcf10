import 'reflect-metadata';
import { constants } from 'node:buffer';
import type { LogLevel } from '@nestjs/common';
import {
  AccessTokens,
  BasePath,
  Check,
  Choice,
  CorsOrigins,
  Host,
  HttpUrl,
  JwtAudience,
  JwtJwksUrl,
  LogLevelName,
  OnOrOff,
  PostgresUrl,
  RequiredInProduction,
  SeparatePort,
  TrustedProxies,
  describeVariables,
  Variable,
  WholeNumber,
  findVariable,
} from './config-values.js';
import { quote } from '../util/text.js';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { ConfigurationError } from './config-error.js';

// What setTimeout can wait for: a longer time would be taken for 1 ms.
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** The configuration of the process: each property with its variable, its explanation, its default and its rules. */
export class Environment {
  @Variable('NODE_ENV', 'With "production" the service refuses to start without a database, and makes no access token.')
  @Check('production', (name) =>
    name !== 'production' && /^prod(uction)?$/i.test(String(name))
      ? `is ${quote(name)}, should be "production" if that is meant: any other value is not taken for it`
      : undefined,
  )
  nodeEnv = 'development';

  @Variable('PORT', 'Port of the public listener; 0 takes any free one.')
  @WholeNumber(0, 65535)
  port = 3000;

  @Variable('HOST', 'Address that the public listener binds to.')
  @Host()
  host = '0.0.0.0';

  @Variable('BASE_PATH', 'Prefix of /plants, such as /api/v1; none by default.')
  @BasePath()
  basePath = '';

  @Variable(
    'DATABASE_URL',
    'URL of the PostgreSQL database, with sslmode and schema as parameters; outside production an embedded server by default.',
    { secret: true },
  )
  @PostgresUrl()
  @RequiredInProduction('the URL of a PostgreSQL database (or DATABASE_URL_FILE a file that holds it)')
  databaseUrl?: string;

  @Variable('DATABASE_PASSWORD', 'Password of the database, if DATABASE_URL does not hold it.', { secret: true })
  databasePassword?: string;

  @Variable('DATABASE_POOL_SIZE', 'Maximum number of connections to the database.')
  @WholeNumber(1, 1000)
  databasePoolSize = 10;

  @Variable('STORAGE_TIMEOUT', 'Milliseconds that a request waits for the database before it fails.')
  @WholeNumber(1, 86_400_000, 'a whole number of milliseconds')
  storageTimeout = 5000;

  @Variable(
    'ACCESS_TOKENS',
    'Static bearer tokens, in addition to those that "plant-store token" issues: separated by commas or white space, each at least 20 characters.',
    { secret: true },
  )
  @AccessTokens()
  accessTokens: string[] = [];

  @Variable('JWT_ISSUER', 'URL of an OpenID Connect issuer whose JWTs are access tokens, exactly as in their "iss".')
  @HttpUrl()
  jwtIssuer?: string;

  @Variable('JWT_AUDIENCE', 'Accepted "aud" of a JWT; several are separated by commas. Required with JWT_ISSUER.')
  @JwtAudience()
  jwtAudience: string[] = [];

  @Variable('JWT_JWKS_URL', "URL of the issuer's keys; by default the one that its discovery document names.")
  @JwtJwksUrl()
  jwtJwksUrl?: string;

  @Variable(
    'WRONG_TOKEN_LIMIT',
    'Wrong access tokens that one address may send per minute; more are answered with 42900. 0 means no limit.',
  )
  @WholeNumber(0, 1_000_000_000)
  wrongTokenLimit = 100;

  @Variable('RATE_LIMIT', 'Requests per minute with one access token; more are answered with 42900. 0 means no limit.')
  @WholeNumber(0, 1_000_000_000)
  rateLimit = 0;

  @Variable(
    'TRUST_PROXY',
    'Proxies whose X-Forwarded-For gives the address of a client: their number, or their addresses and networks, separated by commas; none by default.',
  )
  @TrustedProxies()
  trustProxy: number | string[] = [];

  @Variable('BODY_LIMIT', 'Maximum size of a request body in bytes, decompressed.')
  // A longer body could not become a string.
  @WholeNumber(1, constants.MAX_STRING_LENGTH, 'a whole number of bytes')
  bodyLimit = 1_048_576;

  @Variable('WRITE_QUEUE_LIMIT', 'Maximum number of creates that wait for the database; more are answered with 50301.')
  @WholeNumber(1, 1_000_000)
  writeQueueLimit = 10_000;

  @Variable(
    'ERROR_STATUS',
    'Status of failures: "contract" answers 400 to all of them, "semantic" the status that plain HTTP would use.',
  )
  @Choice([
    ['contract', 'contract'],
    ['semantic', 'semantic'],
  ])
  errorStatus: 'contract' | 'semantic' = 'contract';

  @Variable('MANAGEMENT_PORT', 'Port of the management listener (/livez, /readyz, /metrics); 0 takes any free one.')
  @WholeNumber(0, 65535)
  @SeparatePort()
  managementPort = 9464;

  @Variable('MANAGEMENT_HOST', 'Address that the management listener binds to.')
  @Host()
  managementHost = '127.0.0.1';

  @Variable('WORKERS', 'Processes sharing the port, each with DATABASE_POOL_SIZE connections to the database.')
  @WholeNumber(1, 64)
  workers = 1;

  @Variable('LOG_LEVEL', 'Minimum log level: fatal, error, warn, info, debug or trace.', { default: 'info' })
  @LogLevelName()
  logLevel: LogLevel = 'log';

  @Variable('LOG_FORMAT', 'Format of the log: json, or pretty, which is the default on a terminal.', {
    default: 'json',
  })
  @Choice([
    ['json', 'json'],
    ['pretty', 'pretty'],
  ])
  logFormat: 'json' | 'pretty' = process.stdout.isTTY ? 'pretty' : 'json';

  @Variable('DOCS', 'Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off.', { default: 'on' })
  @OnOrOff()
  docs = true;

  @Variable('CORS_ORIGINS', 'Origins of web pages that may call the service, separated by commas; none by default.')
  @CorsOrigins()
  corsOrigins: string[] = [];

  @Variable(
    'REQUEST_TIMEOUT',
    'Milliseconds for headers and body of a request to arrive, and how long a client may stop reading its answer.',
  )
  @WholeNumber(1, LONGEST_TIMEOUT, 'a whole number of milliseconds')
  requestTimeout = 10_000;

  get production(): boolean {
    return this.nodeEnv === 'production';
  }
}

/**
 * Reads the configuration from environment variables.
 *
 * @throws {ConfigurationError} naming every fault at once; it shows no secret
 */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const sources = describeVariables(Environment).map((variable) => ({
    ...variable,
    source: findVariable(variable, variables),
  }));

  const environment = plainToInstance(
    Environment,
    Object.fromEntries(sources.map(({ name, source }) => [name, source.text])),
    { excludeExtraneousValues: true, exposeDefaultValues: true },
  );
  const invalid = new Map(
    validateSync(environment, { stopAtFirstError: true }).map(({ property, constraints = {} }) => [
      property,
      Object.values(constraints)[0],
    ]),
  );

  const faults = sources.flatMap(({ property, source }) => {
    // What could not be read has its default, and so would be called missing as well.
    const fault = source.fault ?? invalid.get(property);
    return fault === undefined ? [] : [`${source.name}: ${fault}`];
  });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}
