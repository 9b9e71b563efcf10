import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { ISSUER, JWKS_URL, JWT_TYP } from '../auth/auth.options.js';
import { accessTokensFault } from '../auth/static-token.verifier.js';
import { parseDatabaseUrl } from '../prisma/database-url.js';
import { DAY_MS, MILLISECONDS, POOL_SIZE } from '../prisma/database.options.js';
import { BODY_LIMIT, ERROR_STATUSES, WRITE_QUEUE_LIMIT } from '../plants/plants.options.js';
import { oneOf, type Requirement, wholeNumber } from '../util/options.js';
import { ExplainedError, failureOf, quote } from '../util/text.js';

/** Parses the text of a variable. It throws an error that says what is wrong and what would be right. */
type Reader<T> = (text: string) => T;

function reader<T>([what, holds]: Requirement<T>, parse: (text: string) => unknown = String): Reader<T> {
  return (text) => {
    const value = parse(text);
    if (holds(value)) return value;
    // A URL with an @ may hold a password, so it is not shown.
    throw new Error(`${text.includes('@') ? 'holds a user or password' : `is ${quote(text)}`}, should be ${what}`);
  };
}

function matching(what: string, test: (text: string) => boolean): Reader<string> {
  return reader([what, (value): value is string => test(String(value))]);
}

function numberReader(requirement: Requirement<number>): Reader<number> {
  // Number() also accepts "1e3", "0x10" and "", and rounds beyond 15 digits.
  return reader(requirement, (text) => (/^\d{1,15}$/.test(text) ? Number(text) : NaN));
}

function wordReader<Word extends string>(requirement: Requirement<Word>): Reader<Word> {
  return reader(requirement, (text) => text.toLowerCase());
}

function optional<T>(read: Reader<T>): Reader<T | undefined> {
  return (text) => (text === '' ? undefined : read(text));
}

const port = numberReader(wholeNumber(0, 65_535));
const milliseconds = numberReader(MILLISECONDS);
const delay = numberReader(wholeNumber(0, DAY_MS, ' of milliseconds'));
const host = matching(
  'an IP address or a host name, without brackets or port',
  (text) => isIP(text) > 0 || /^[\w.-]*[a-z][\w.-]*$/i.test(text),
);
const prefix = matching('a path such as /api/v1, made of letters, digits and -._~, with no slash at its end', (text) =>
  /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/.test(text),
);
const mode = matching('"production" if that is meant', (text) => text === 'production' || !/^prod/i.test(text));
const issuer = optional(reader(ISSUER));
const keys = optional(reader(JWKS_URL));
const statuses = wordReader(ERROR_STATUSES);
const level = wordReader(oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace'));
const url = optional((text) => text.trim());
/** White space may be a part of a secret. */
const secret = optional(String);
const tokens: Reader<string[]> = (text) => {
  const found = text.split(/[\s,]+/).filter(Boolean);
  const fault = accessTokensFault(found);
  if (fault !== undefined) throw new Error(fault);
  return found;
};
const audiences: Reader<string[]> = (text) => text.split(/\s*,\s*/).filter(Boolean);
const onOff: Reader<boolean> = (text) => wordReader(oneOf('on', 'off'))(text) === 'on';

/** A secret may also stand in the file that `<NAME>_FILE` names. No message shows it. */
export const SECRETS =
  'DATABASE_URL DATABASE_PASSWORD MIGRATION_DATABASE_URL MIGRATION_DATABASE_PASSWORD ACCESS_TOKENS'.split(' ');

/** The parser, default and explanation of each variable. .env.example and docs/configuration.md come from it. */
export const VARIABLES = {
  NODE_ENV: [mode, 'development', 'With production the service needs a database, and makes no access token'],
  PORT: [port, '3000', 'Port of the public listener; 0 takes any free one'],
  HOST: [host, '0.0.0.0', 'Address of the public listener; 127.0.0.1 by default with the embedded database'],
  BASE_PATH: [prefix, '', 'Prefix of /plants, such as /api/v1'],
  DATABASE_URL: [url, '', 'PostgreSQL URL; without it an embedded server runs, unless in production'],
  DATABASE_PASSWORD: [secret, '', 'Password of the database, if DATABASE_URL does not hold it'],
  MIGRATION_DATABASE_URL: [url, '', 'The same database as the owner of its tables, for plant-store migrate'],
  MIGRATION_DATABASE_PASSWORD: [secret, '', 'Password of the owner, if MIGRATION_DATABASE_URL does not hold it'],
  DATABASE_POOL_SIZE: [numberReader(POOL_SIZE), '10', 'Maximum number of connections to the database'],
  STORAGE_TIMEOUT: [milliseconds, '5000', 'Milliseconds that a request waits for the database'],
  ACCESS_TOKENS: [tokens, '', 'Static bearer tokens of 20 characters or more, separated by commas or white space'],
  JWT_ISSUER: [issuer, '', 'URL of the OpenID Connect issuer whose JWTs are access tokens, as in their "iss"'],
  JWT_AUDIENCE: [audiences, '', 'Accepted "aud" of JWTs, separated by commas; required with JWT_ISSUER'],
  JWT_JWKS_URL: [keys, '', "URL of the issuer's keys, if its discovery document does not name it"],
  JWT_TYP: [optional(wordReader(JWT_TYP)), '', 'Required "typ" of a JWT: at+jwt, that of RFC 9068'],
  BODY_LIMIT: [numberReader(BODY_LIMIT), '1048576', 'Maximum size of a request body in bytes'],
  WRITE_QUEUE_LIMIT: [numberReader(WRITE_QUEUE_LIMIT), '10000', 'Creates that may wait; more are answered with 50301'],
  ERROR_STATUS: [statuses, 'contract', 'Status of failures: contract is always 400, semantic that of plain HTTP'],
  MANAGEMENT_PORT: [port, '9464', 'Port of /livez, /readyz and /metrics; 0 takes any free one'],
  MANAGEMENT_HOST: [host, '127.0.0.1', 'Address of the management listener'],
  SHUTDOWN_TIMEOUT: [milliseconds, '10000', 'Milliseconds that a stop may take, DRAIN_DELAY included'],
  DRAIN_DELAY: [delay, '0', 'Milliseconds in which a stop still accepts connections, for load balancers to notice'],
  MAX_CONNECTIONS: [
    numberReader(wholeNumber(1, 1_000_000)),
    '10000',
    'Open client connections; beyond it the newest is closed',
  ],
  LOG_LEVEL: [level, 'info', 'Minimum log level: fatal, error, warn, info, debug or trace'],
  LOG_REQUESTS: [
    wordReader(oneOf('off', 'failures', 'all')),
    'failures',
    'Requests that are logged: off, failures or all',
  ],
  DOCS: [onOff, 'on', 'Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off'],
  REQUEST_TIMEOUT: [milliseconds, '10000', 'Milliseconds for the headers and body of a request to arrive'],
} as const satisfies Record<string, readonly [Reader<unknown>, string, string]>;

type Name = keyof typeof VARIABLES;

/** The first variable means nothing without the second. */
const REQUIRES: [Name, Name][] = [
  ['JWT_ISSUER', 'JWT_AUDIENCE'],
  ['JWT_AUDIENCE', 'JWT_ISSUER'],
  ['JWT_JWKS_URL', 'JWT_ISSUER'],
  ['JWT_TYP', 'JWT_ISSUER'],
  ['MIGRATION_DATABASE_PASSWORD', 'MIGRATION_DATABASE_URL'],
];

export type Environment = { -readonly [One in Name]: ReturnType<(typeof VARIABLES)[One][0]> };

/** A service always has a database. */
export type ServiceEnvironment = Environment & { DATABASE_URL: string };

/** The configuration cannot be used. Each fault names the variable, what is wrong and what would be right. */
export class ConfigurationError extends ExplainedError {
  override readonly name = 'ConfigurationError';

  /** @param mayPass whether a later start may succeed, for example when another program frees the port */
  constructor(
    readonly faults: readonly string[],
    readonly mayPass = false,
    options?: ErrorOptions,
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
  }
}

/** Reads the environment. @throws ConfigurationError with every fault at once and without any secret */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const { environment, faults } = readEnvironment(variables);
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}

/** Reads the environment with its faults. A variable with a fault gets its default. */
export function readEnvironment(variables: NodeJS.ProcessEnv): { environment: Environment; faults: readonly string[] } {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  const note = (name: string, check: () => unknown): void => {
    const fault = failureOf(check);
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
  };
  for (const [name, [read, initial]] of Object.entries(VARIABLES)) {
    values[name] = read(initial);
    note(name, () => {
      const text = textOf(name, variables);
      // Docker Compose passes an unset variable as an empty one.
      if (text.trim() !== '') values[name] = read(text);
    });
  }
  const environment = values as Environment;
  const isGiven = (name: Name): boolean =>
    [name, `${name}_FILE`].some((source) => (variables[source] ?? '').trim() !== '');
  const isProduction = environment.NODE_ENV === 'production';
  // The embedded database is for one developer, so the listener stays local.
  if (!isProduction && !isGiven('DATABASE_URL') && !isGiven('HOST')) environment.HOST = '127.0.0.1';
  if (isProduction && !isGiven('DATABASE_URL'))
    faults.push('DATABASE_URL: is missing, in production it should be the URL of a PostgreSQL database');
  for (const name of ['DATABASE', 'MIGRATION_DATABASE'] as const) {
    const [address, password] = [environment[`${name}_URL`], environment[`${name}_PASSWORD`]];
    if (address !== undefined) note(`${name}_URL`, () => parseDatabaseUrl(address, password));
  }
  for (const [name, other] of REQUIRES)
    if (isGiven(name) && !isGiven(other)) faults.push(`${other}: is missing, should be set, or ${name} be left out`);
  const { DRAIN_DELAY, MANAGEMENT_PORT, PORT, SHUTDOWN_TIMEOUT } = environment;
  if (PORT > 0 && PORT === MANAGEMENT_PORT) faults.push('MANAGEMENT_PORT: is that of PORT too, should be another one');
  if (DRAIN_DELAY > SHUTDOWN_TIMEOUT)
    faults.push(`DRAIN_DELAY: should be at most SHUTDOWN_TIMEOUT (${SHUTDOWN_TIMEOUT}), which includes it`);
  return { environment, faults };
}

/** The text of a variable. For a secret, a file goes first. */
function textOf(name: string, variables: NodeJS.ProcessEnv): string {
  const given = variables[name] ?? '';
  if (!SECRETS.includes(name)) return given.trim();
  const path = (variables[`${name}_FILE`] ?? '').trim();
  if (path === '') return given;
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch (cause) {
    // The path may be the secret itself, given to the wrong variable, so it is not shown.
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`the file of ${name}_FILE cannot be read (${code})`, { cause });
  }
  // Without its secret, the service would start in another way, for example with the embedded database.
  if (text.trim() === '') throw new Error(`the file of ${name}_FILE is empty, should hold the secret`);
  return text;
}
