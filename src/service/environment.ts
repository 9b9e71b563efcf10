import type { LogLevel } from '@nestjs/common';
import { isFQDN, isIP } from 'class-validator';
import { constants } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { accessTokensFault } from '../auth/static-token.verifier.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { ExplainedError, failureOf, isHttpUrl, quote } from '../util/text.js';

/** Reads the value that a text means. The message of what it throws says what is wrong and what would be right. */
type Rule<T> = (text: string) => T;

function should<T>(what: string, find: (text: string) => T | undefined): Rule<T> {
  return (text) => {
    const value = find(text);
    if (value !== undefined) return value;
    // A URL with an @ may hold a password.
    throw new Error(`${text.includes('@') ? 'holds a user or password' : `is ${quote(text)}`}, should be ${what}`);
  };
}

function matching(what: string, test: (text: string) => boolean): Rule<string> {
  return should(what, (text) => (test(text) ? text : undefined));
}

function wholeNumber(from: number, to: number, unit = ''): Rule<number> {
  return should(`a whole number${unit} from ${from} to ${to}`, (text) => {
    // Number() also takes "1e3", "0x10" and "", and rounds beyond 15 digits.
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return number >= from && number <= to ? number : undefined;
  });
}

/** One word of a few, in any case of letters, each with its value. */
function word<T>(meanings: Record<string, T>): Rule<T> {
  const values = new Map(Object.entries(meanings));
  return should(`one of ${[...values.keys()].join(', ')}`, (text) => values.get(text.toLowerCase()));
}

function optional<T>(read: Rule<T>): Rule<T | undefined> {
  return (text) => (text === '' ? undefined : read(text));
}

function list(separator: RegExp, findFault: (items: string[]) => string | undefined = () => undefined): Rule<string[]> {
  return (text) => {
    const items = text.split(separator).filter((item) => item !== '');
    const fault = findFault(items);
    if (fault !== undefined) throw new Error(fault);
    return items;
  };
}

const port = wholeNumber(0, 65_535);
const milliseconds = wholeNumber(1, 86_400_000, ' of milliseconds');
const delay = wholeNumber(0, 86_400_000, ' of milliseconds');
const bytes = wholeNumber(1, constants.MAX_STRING_LENGTH, ' of bytes');
const host = matching(
  'an IP address or a host name, without brackets or port',
  (text) => isIP(text) || isFQDN(text, { require_tld: false, allow_underscores: true }),
);
const prefix = matching('a path such as /api/v1, made of letters, digits and -._~, with no slash at its end', (text) =>
  /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/.test(text),
);
const issuer = matching('a URL such as https://id.example.com, without user, query or fragment', isHttpUrl);
const keys = matching('a URL such as https://id.example.com/keys, without user or fragment', (text) =>
  isHttpUrl(text, { query: true }),
);
const mode = matching('"production" if that is meant', (text) => text === 'production' || !/^prod/i.test(text));
const url = optional((text) => text.trim());
/** White space around it may belong to it. */
const password = optional((text) => text);
const tokens = list(/[\s,]+/, (items) => (items.length > 0 ? accessTokensFault(items) : undefined));
const level = word<LogLevel>({
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  info: 'log',
  debug: 'debug',
  trace: 'verbose',
});
const type = word<'at+jwt'>({ 'at+jwt': 'at+jwt' });
const statuses = word<ErrorStatus>({ contract: 'contract', semantic: 'semantic' });
const requests = word<'off' | 'failures' | 'all'>({ off: 'off', failures: 'failures', all: 'all' });
const toggle = word({ on: true, off: false, true: true, false: false, '1': true, '0': false });

/** A secret also reads from the file that `<NAME>_FILE` names, and no message shows it. */
export const SECRETS =
  'DATABASE_URL DATABASE_PASSWORD MIGRATION_DATABASE_URL MIGRATION_DATABASE_PASSWORD ACCESS_TOKENS'.split(' ');

/** Each variable with its rule, its default as text, and its explanation. .env.example and the table of docs/configuration.md are made from it. */
export const VARIABLES = {
  NODE_ENV: [mode, 'development', 'With production the service needs a database, and makes no access token'],
  PORT: [port, '3000', 'Port of the public listener; 0 takes any free one'],
  HOST: [host, '0.0.0.0', 'Address of the public listener; 127.0.0.1 by default with the embedded database'],
  BASE_PATH: [prefix, '', 'Prefix of /plants, such as /api/v1'],
  DATABASE_URL: [url, '', 'PostgreSQL URL; without it an embedded server runs, unless in production'],
  DATABASE_PASSWORD: [password, '', 'Password of the database, if DATABASE_URL does not hold it'],
  MIGRATION_DATABASE_URL: [url, '', 'The same database as the owner of its tables, for plant-store migrate'],
  MIGRATION_DATABASE_PASSWORD: [password, '', 'Password of the owner, if MIGRATION_DATABASE_URL does not hold it'],
  DATABASE_POOL_SIZE: [wholeNumber(1, 1000), '10', 'Maximum number of connections to the database'],
  STORAGE_TIMEOUT: [milliseconds, '5000', 'Milliseconds that a request waits for the database'],
  ACCESS_TOKENS: [tokens, '', 'Static bearer tokens of 20 characters or more, separated by commas or white space'],
  JWT_ISSUER: [
    optional(issuer),
    '',
    'URL of the OpenID Connect issuer whose JWTs are access tokens, as in their "iss"',
  ],
  JWT_AUDIENCE: [list(/\s*,\s*/), '', 'Accepted "aud" of JWTs, separated by commas; required with JWT_ISSUER'],
  JWT_JWKS_URL: [optional(keys), '', "URL of the issuer's keys, if its discovery document does not name it"],
  JWT_TYP: [optional(type), '', 'Required "typ" of a JWT: at+jwt, that of RFC 9068'],
  BODY_LIMIT: [bytes, '1048576', 'Maximum size of a request body in bytes'],
  WRITE_QUEUE_LIMIT: [wholeNumber(1, 1_000_000), '10000', 'Creates that may wait; more are answered with 50301'],
  ERROR_STATUS: [statuses, 'contract', 'Status of failures: contract is always 400, semantic that of plain HTTP'],
  MANAGEMENT_PORT: [port, '9464', 'Port of /livez, /readyz and /metrics; 0 takes any free one'],
  MANAGEMENT_HOST: [host, '127.0.0.1', 'Address of the management listener'],
  SHUTDOWN_TIMEOUT: [milliseconds, '10000', 'Milliseconds that a stop may take, DRAIN_DELAY included'],
  DRAIN_DELAY: [delay, '0', 'Milliseconds in which a stop still accepts connections, for load balancers to notice'],
  MAX_CONNECTIONS: [wholeNumber(1, 1_000_000), '10000', 'Open client connections; beyond it the newest is closed'],
  LOG_LEVEL: [level, 'info', 'Minimum log level: fatal, error, warn, info, debug or trace'],
  LOG_REQUESTS: [requests, 'failures', 'Requests that are logged: off, failures or all'],
  DOCS: [toggle, 'on', 'Swagger UI at /docs and the OpenAPI document at /openapi.json: on or off'],
  REQUEST_TIMEOUT: [milliseconds, '10000', 'Milliseconds for the headers and body of a request to arrive'],
} as const satisfies Record<string, readonly [Rule<unknown>, string, string]>;

type Name = keyof typeof VARIABLES;

/** The configuration of the process. */
export type Environment = { -readonly [One in Name]: ReturnType<(typeof VARIABLES)[One][0]> };

/** The configuration of a service: it has a database. */
export type ServiceEnvironment = Environment & { DATABASE_URL: string };

/** The configuration cannot be used. `faults` has a line for each fault: the variable, what is wrong, what would be right. */
export class ConfigurationError extends ExplainedError {
  override readonly name = 'ConfigurationError';

  /** @param mayPass whether the same configuration may be usable later: another program may free the port */
  constructor(
    readonly faults: readonly string[],
    readonly mayPass = false,
    options?: ErrorOptions,
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
  }
}

/** Reads the environment, whether or not it can be used: a variable with a fault has its default. */
export function readEnvironment(variables: NodeJS.ProcessEnv): { environment: Environment; faults: readonly string[] } {
  const values: Record<string, unknown> = {};
  const faults = new Map<string, string | undefined>();
  for (const [name, [read, initial]] of Object.entries(VARIABLES)) {
    values[name] = read(initial);
    const fault = failureOf(() => {
      const text = textOf(name, variables);
      // Compose passes a variable that is not set as an empty one.
      if (text.trim() !== '') values[name] = read(text);
    });
    faults.set(name, fault);
  }
  const environment = values as Environment;
  // The embedded database is for one developer.
  const isEmbedded = environment.DATABASE_URL === undefined && environment.NODE_ENV !== 'production';
  if (isEmbedded && (variables.HOST ?? '').trim() === '') environment.HOST = '127.0.0.1';
  const others: Record<string, string | undefined> = faultsBetween(
    environment,
    (name) => environment[name] === undefined && faults.get(name) === undefined,
  );
  const lines = Array.from(faults, ([name, fault = others[name]]) => {
    const source = pathOf(name, variables) === '' ? name : `${name}_FILE`;
    return fault === undefined ? [] : [`${source}: ${fault}`];
  });
  return { environment, faults: lines.flat() };
}

/** Reads the environment. @throws ConfigurationError with every fault at once; it shows no secret */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const { environment, faults } = readEnvironment(variables);
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}

function pathOf(name: string, variables: NodeJS.ProcessEnv): string {
  return SECRETS.includes(name) ? (variables[`${name}_FILE`] ?? '').trim() : '';
}

function textOf(name: string, variables: NodeJS.ProcessEnv): string {
  const text = variables[name] ?? '';
  const path = pathOf(name, variables);
  if (path === '') return SECRETS.includes(name) ? text : text.trim();
  if (text.trim() !== '') throw new Error(`is set, and so is ${name}: should be one of the two`);
  let content: string;
  try {
    content = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch (cause) {
    // The path is not shown: it may be the secret itself, given to the wrong variable.
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`cannot read that file (${code}), should be the path of a readable one`, { cause });
  }
  if (content.trim() === '') throw new Error('is the path of an empty file, should be that of a file with the secret');
  return content;
}

/** What is wrong with a variable beside the others. */
function faultsBetween(
  environment: Environment,
  isMissing: (name: Name) => boolean,
): Partial<Record<Name, string | undefined>> {
  const { DATABASE_URL, MIGRATION_DATABASE_URL, JWT_AUDIENCE, PORT, SHUTDOWN_TIMEOUT } = environment;
  const urlFault = (url: string | undefined, secret: string | undefined): string | undefined =>
    url === undefined ? undefined : failureOf(() => parseDatabaseUrl(url, secret));
  const without = (other: Name, value: unknown): string | undefined =>
    value !== undefined && isMissing(other) ? `is set without ${other}: should be left out, or that set` : undefined;
  return {
    DATABASE_URL:
      environment.NODE_ENV === 'production' && isMissing('DATABASE_URL')
        ? 'is missing, in production it should be the URL of a PostgreSQL database'
        : urlFault(DATABASE_URL, environment.DATABASE_PASSWORD),
    MIGRATION_DATABASE_URL: urlFault(MIGRATION_DATABASE_URL, environment.MIGRATION_DATABASE_PASSWORD),
    MIGRATION_DATABASE_PASSWORD: without('MIGRATION_DATABASE_URL', environment.MIGRATION_DATABASE_PASSWORD),
    JWT_AUDIENCE:
      JWT_AUDIENCE.length === 0 && !isMissing('JWT_ISSUER')
        ? 'is missing, should be the "aud" that the issuer puts into JWTs for this service'
        : without('JWT_ISSUER', JWT_AUDIENCE[0]),
    JWT_JWKS_URL: without('JWT_ISSUER', environment.JWT_JWKS_URL),
    JWT_TYP: without('JWT_ISSUER', environment.JWT_TYP),
    MANAGEMENT_PORT:
      PORT > 0 && PORT === environment.MANAGEMENT_PORT ? `is ${PORT}, as PORT is: should be another port` : undefined,
    DRAIN_DELAY:
      environment.DRAIN_DELAY > SHUTDOWN_TIMEOUT
        ? `is more than SHUTDOWN_TIMEOUT (${SHUTDOWN_TIMEOUT}), which includes it: should be at most that`
        : undefined,
  };
}
