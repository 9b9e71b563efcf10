import { isIP } from 'node:net';
import { ISSUER, JWKS_URL, JWT_TYP } from '../auth/auth.options.js';
import { accessTokensFault } from '../auth/static-token.verifier.js';
import {
  DAY_MS,
  DEFAULT_POOL_SIZE,
  DEFAULT_STORAGE_TIMEOUT,
  MILLISECONDS,
  POOL_SIZE,
} from '../prisma/database.options.js';
import {
  BODY_LIMIT,
  DEFAULT_BODY_LIMIT,
  DEFAULT_WRITE_QUEUE_LIMIT,
  ERROR_STATUSES,
  WRITE_QUEUE_LIMIT,
} from '../plants/plants.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { oneOf, type Requirement, wholeNumber } from '../util/options.js';
import { commaList, list, matching, number, onOff, Variable, VariableWith, word } from './variable.js';

/** A secret may also stand in the file that `<NAME>_FILE` names. No message shows it. */
export const SECRETS =
  'DATABASE_URL DATABASE_PASSWORD MIGRATION_DATABASE_URL MIGRATION_DATABASE_PASSWORD ACCESS_TOKENS'.split(' ');

const PORT = wholeNumber(0, 65_535);
const DELAY = wholeNumber(0, DAY_MS, ' of milliseconds');
const CONNECTIONS = wholeNumber(1, 1_000_000);
const LEVELS = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace');
const LOGGED = oneOf('off', 'failures', 'all');
const ON_OFF = ['one of on, off', (value: unknown) => typeof value === 'boolean'] as const;
const MODE = matching('"production" if that is meant', (text) => text === 'production' || !/^prod/i.test(text));
const HOST = matching(
  'an IP address or a host name, without brackets or port',
  (text) => isIP(text) > 0 || /^[\w.-]*[a-z][\w.-]*$/i.test(text),
);
const PATH_PREFIX = matching(
  'a path such as /api/v1, made of letters, digits and -._~, with no slash at its end',
  (text) => /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/.test(text),
);
const ANY = ['a text', () => true] as const;

/** The variables of the service, with their defaults. */
export class Environment {
  @Variable('With production the service needs a database, and makes no access token', MODE)
  NODE_ENV = 'development';
  @Variable('Port of the public listener; 0 takes any free one', PORT, number)
  PORT = 3000;
  @Variable('Address of the public listener; 127.0.0.1 by default with the embedded database', HOST)
  HOST = '0.0.0.0';
  @Variable('Prefix of /plants, such as /api/v1', PATH_PREFIX)
  BASE_PATH = '';
  @Variable('PostgreSQL URL; without it an embedded server runs, unless in production', ANY, (text) => text.trim())
  DATABASE_URL?: string;
  @Variable('Password of the database, if DATABASE_URL does not hold it', ANY)
  DATABASE_PASSWORD?: string;
  @Variable('The same database as the owner of its tables, for plant-store migrate', ANY, (text) => text.trim())
  MIGRATION_DATABASE_URL?: string;
  @Variable('Password of the owner, if MIGRATION_DATABASE_URL does not hold it', ANY)
  MIGRATION_DATABASE_PASSWORD?: string;
  @Variable('Maximum number of connections to the database', POOL_SIZE, number)
  DATABASE_POOL_SIZE = DEFAULT_POOL_SIZE;
  @Variable('Milliseconds that a request waits for the database', MILLISECONDS, number)
  STORAGE_TIMEOUT = DEFAULT_STORAGE_TIMEOUT;
  @VariableWith(
    'Static bearer tokens of 20 characters or more, separated by commas or white space',
    accessTokensFault,
    list,
  )
  ACCESS_TOKENS: readonly string[] = [];
  @Variable('URL of the OpenID Connect issuer whose JWTs are access tokens, as in their "iss"', ISSUER)
  JWT_ISSUER?: string;
  @Variable('Accepted "aud" of JWTs, separated by commas; required with JWT_ISSUER', ANY, commaList)
  JWT_AUDIENCE: readonly string[] = [];
  @Variable("URL of the issuer's keys, if its discovery document does not name it", JWKS_URL)
  JWT_JWKS_URL?: string;
  @Variable('Required "typ" of a JWT: at+jwt, that of RFC 9068', JWT_TYP, word)
  JWT_TYP?: 'at+jwt';
  @Variable('Maximum size of a request body in bytes, up to 1048576', BODY_LIMIT, number)
  BODY_LIMIT = DEFAULT_BODY_LIMIT;
  @Variable('Creates that may wait; more are answered with 50301', WRITE_QUEUE_LIMIT, number)
  WRITE_QUEUE_LIMIT = DEFAULT_WRITE_QUEUE_LIMIT;
  @Variable('Status of failures: contract is always 400, semantic that of plain HTTP', ERROR_STATUSES, word)
  ERROR_STATUS: ErrorStatus = 'contract';
  @Variable('Port of /livez, /readyz and /metrics; 0 takes any free one', PORT, number)
  MANAGEMENT_PORT = 9464;
  @Variable('Address of the management listener', HOST)
  MANAGEMENT_HOST = '127.0.0.1';
  @Variable('Milliseconds that a stop may take, DRAIN_DELAY included', MILLISECONDS, number)
  SHUTDOWN_TIMEOUT = 10_000;
  @Variable('Milliseconds in which a stop still accepts connections, for load balancers to notice', DELAY, number)
  DRAIN_DELAY = 0;
  @Variable('Open client connections; beyond it the newest is closed', CONNECTIONS, number)
  MAX_CONNECTIONS = 10_000;
  @Variable('Minimum log level: fatal, error, warn, info, debug or trace', LEVELS, word)
  LOG_LEVEL: WordOf<typeof LEVELS> = 'info';
  @Variable('Requests that are logged: off, failures or all', LOGGED, word)
  LOG_REQUESTS: WordOf<typeof LOGGED> = 'failures';
  @Variable('Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off', ON_OFF, onOff)
  DOCS = true;
  @Variable('Milliseconds for the headers and body of a request to arrive', MILLISECONDS, number)
  REQUEST_TIMEOUT = 10_000;
}

type WordOf<R> = R extends Requirement<infer Word> ? Word : never;
export type Name = keyof Environment;

/** The default of a variable, as a text. */
export function defaultText(name: string): string {
  const value = new Environment()[name as Name];
  return value === true ? 'on' : value === false ? 'off' : (value?.toString() ?? '');
}

/** Whether no token is configured. Then only issued tokens are valid. */
export function hasNoConfiguredToken({ ACCESS_TOKENS, JWT_ISSUER }: Environment): boolean {
  return ACCESS_TOKENS.length === 0 && JWT_ISSUER === undefined;
}
