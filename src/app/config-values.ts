import { isFQDN, IsIn, IsInt, Matches, Max, Min, ValidateBy, type ValidationArguments } from 'class-validator';
import type { Environment } from './config.js';
import { Expose, Transform } from 'class-transformer';
import { applyDecorators } from '@nestjs/common';
import { isIP } from 'node:net';
import { compile } from 'proxy-addr';
import { quote } from '../util/text.js';
import { readFileSync } from 'node:fs';
import { accessTokensFault } from '../auth/static-tokens.js';
import { isHttpUrl } from '../auth/jwt/jwt-rules.js';
import { parseDatabaseUrl } from '../database/database-url.js';

/** Says what is wrong with a value and what would be right, or nothing. */
type FindFault = (value: unknown, environment: Environment) => string | undefined;

/** A validation whose message depends on what is wrong. */
export function Check(name: string, findFault: FindFault): PropertyDecorator {
  const fault = (args?: ValidationArguments) => args && findFault(args.value, args.object as Environment);
  return ValidateBy({
    name,
    validator: {
      validate: (_value, args) => fault(args) === undefined,
      defaultMessage: (args) => fault(args) ?? '',
    },
  });
}

/** Texts, separated by commas. */
function TextList(): PropertyDecorator {
  return Transform(({ value }) => splitList(value as string));
}

/** The texts that commas separate, without white space around them. */
function splitList(list: string): string[] {
  return list
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** More than anybody has in a row. Each one too many would let clients choose their address. */
const MOST_PROXIES = 32;
const NUMBER = /^\d{1,3}$/;
const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];
const EVERYBODY = /^(\*|true|yes|on|all|any)$/i;
const NETWORK = /^(?<address>[^/]+)\/(?<length>\d+)$/;
const IPV4_MAPPED = /^::ffff:/i;
/** Wider ones than the private networks 10.0.0.0/8 and fc00::/7 are nobody's own. */
const SHORTEST = { ipv4: 8, ipv6: 7, mapped: 96 + 8 };
const EXPECTED =
  `should be how many proxies there are in a row (0 to ${MOST_PROXIES}), or their addresses, networks such as 10.0.0.0/8 ` +
  `and names of networks (${NETWORK_NAMES.join(', ')}), separated by commas`;

function parse(text: string): number | string[] {
  const count = text.trim();
  return NUMBER.test(count) ? Number(count) : splitList(count);
}

function findFault(value: number | string[]): string | undefined {
  if (typeof value === 'number') {
    return value <= MOST_PROXIES ? undefined : `is "${value}", ${EXPECTED}`;
  }
  const everybody = value.find((proxy) => EVERYBODY.test(proxy) || isTooWide(proxy));
  if (everybody !== undefined) {
    return `holds ${quote(everybody)}, ${EXPECTED}: if everybody was trusted, clients could choose the address that they are counted by`;
  }
  const wrong = value.filter((proxy) => !isProxy(proxy));
  return wrong.length > 0 ? `holds ${wrong.map((proxy) => quote(proxy)).join(', ')}, ${EXPECTED}` : undefined;
}

function isTooWide(text: string): boolean {
  const { address = '', length } = NETWORK.exec(text)?.groups ?? {};
  if (length === undefined || isIP(address) === 0) return false;
  const kind = isIP(address) === 4 ? 'ipv4' : IPV4_MAPPED.test(address) ? 'mapped' : 'ipv6';
  return Number(length) < SHORTEST[kind];
}

function isProxy(text: string): boolean {
  if (NETWORK_NAMES.includes(text)) return true;
  const { address = text } = NETWORK.exec(text)?.groups ?? {};
  // proxy-addr also takes what inet_aton() does: 2 for 0.0.0.2, and 010.0.0.1 for 8.0.0.1.
  if (isIP(address) === 0) return false;
  try {
    compile(text);
    return true;
  } catch {
    return false;
  }
}

/** Which proxies tell the address of a client: how many there are in a row, or where they are. */
export function TrustedProxies(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => parse(value as string)),
    Check('trustedProxies', (value) => findFault(value as number | string[])),
  );
}

/** What is known of an environment variable; documentation and example files are checked against it. */
interface VariableDescription {
  /** Name of the environment variable. */
  name: string;
  /** Property of the environment class that holds its value. */
  property: string;
  /** One line of explanation. */
  about: string;
  /** The value that setting it to its default would take, empty if it has none. */
  default: string;
  /** A secret also reads from the file that `<name>_FILE` names, and its value is never shown. */
  secret: boolean;
}

interface VariableOptions {
  secret?: boolean;
  /** How the default is written, where that is not the initialiser as text. */
  default?: string;
}

type Declared = Omit<VariableDescription, 'default'> & VariableOptions;

const declared = new WeakMap<object, Declared[]>();

/** Ties a property to the environment variable that it is read from. The initialiser is the default. */
export function Variable(name: string, about: string, options: VariableOptions = {}): PropertyDecorator {
  return (target, property) => {
    Expose({ name })(target, property);
    const variables = declared.get(target) ?? [];
    variables.push({ secret: false, ...options, name, property: String(property), about });
    declared.set(target, variables);
  };
}

/** The variables of an environment class, in the order of their declaration. */
export function describeVariables(environment: new () => object): VariableDescription[] {
  const initial = new Map(Object.entries(new environment()));
  const variables = declared.get(environment.prototype as object) ?? [];
  return variables.map((variable) => ({
    ...variable,
    default: variable.default ?? String(initial.get(variable.property) ?? ''),
  }));
}

/** Where the text of a variable was found, and what it is; no text when it is not set. */
interface VariableSource {
  /** The variable that was set: the one itself, or its `_FILE`. */
  name: string;
  text?: string;
  /** Why the text could not be read. */
  fault?: string;
}

function readSecretFile(name: string, path: string): VariableSource {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { name, fault: `cannot read ${quote(path)} (${String(code)}), should be the path of a readable file` };
  }
  if (text.trim() === '') return { name, fault: `${quote(path)} is empty, should be a file that holds the secret` };
  return { name, text };
}

/** Finds the text of a variable. One that is empty counts as not set, as compose files pass what is unset that way. */
export function findVariable({ name, secret }: VariableDescription, variables: NodeJS.ProcessEnv): VariableSource {
  const text = variables[name] ?? '';
  const fileName = `${name}_FILE`;
  const path = secret ? (variables[fileName] ?? '').trim() : '';

  if (text.trim() === '') return path === '' ? { name } : readSecretFile(fileName, path);
  if (path !== '') return { name, fault: `is set, and so is ${fileName}: should be one of the two` };
  // White space around a password may be part of it; the other secrets are trimmed where they are parsed.
  return { name, text: secret ? text : text.trim() };
}

/** Bearer tokens, separated by commas or white space. A fault tells the position of a token, never the token. */
export function AccessTokens(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).split(/[\s,]+/).filter((token) => token !== '')),
    Check('accessTokens', (value) => accessTokensFault(value as string[])),
  );
}

/** The path before another one, or none. */
export function BasePath(): PropertyDecorator {
  return Matches(/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/, {
    message: ({ value }) =>
      `is ${quote(value)}, should be a path like /api/v1: it starts with "/", does not end with one, and its parts are made of letters, digits and -._~`,
  });
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i;

// Browsers send an origin in lower case and without the port that goes without saying; a list written otherwise would never match.
function normalise(text: string): string {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return text;
  const { origin } = new URL(text);
  return origin === 'null' ? text.toLowerCase() : origin;
}

function originFault(origin: string): string | undefined {
  if (origin === '*') return 'is "*", which is not offered: should be a list of the origins that may call';
  if (ORIGIN.test(origin) && URL.canParse(origin)) return undefined;
  return `holds ${quote(origin)}, should be origins like https://app.example.com or http://localhost:5173, without a path, separated by commas`;
}

/** Origins of web pages, separated by commas. */
export function CorsOrigins(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => splitList(value as string).map(normalise)),
    Check('corsOrigins', (value) => {
      const faults = (value as string[]).map(originFault).filter((fault) => fault !== undefined);
      return faults.length > 0 ? faults.join('; ') : undefined;
    }),
  );
}

/** An address or a name to listen on. */
export function Host(): PropertyDecorator {
  return Check('host', (host) =>
    isIP(host as string) !== 0 || isFQDN(host, { require_tld: false, allow_underscores: true })
      ? undefined
      : `is ${quote(host)}, should be an IP address or a host name, without brackets or port`,
  );
}

/** What may hold a password, which must not be shown. */
const USER = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/)?[^/?#]*@/i;

/** The URL of something that is fetched over HTTP, with a query where it may have one. */
export function HttpUrl(options: { query?: boolean } = {}): PropertyDecorator {
  const should = `should be a URL such as https://id.example.com, without user${options.query ? '' : ', query'} or fragment`;
  return Check('httpUrl', (value) => {
    if (value === undefined || isHttpUrl(value, options)) return undefined;
    return `${USER.test(value as string) ? 'holds a user or password' : `is ${quote(value)}`}, ${should}`;
  });
}

const WITHOUT_ISSUER = 'is set without JWT_ISSUER: should be left out, or that set';

/** Several texts, which an issuer needs, and which need an issuer. */
export function JwtAudience(): PropertyDecorator {
  return applyDecorators(
    TextList(),
    Check('jwtAudience', (audiences, { jwtIssuer }) => {
      const isMissing = (audiences as string[]).length === 0;
      if (jwtIssuer === undefined) return isMissing ? undefined : WITHOUT_ISSUER;
      return isMissing
        ? 'is missing, should be what the issuer puts into the "aud" of JWTs for this service'
        : undefined;
    }),
  );
}

/** A URL, which needs an issuer. */
export function JwtJwksUrl(): PropertyDecorator {
  return applyDecorators(
    HttpUrl({ query: true }),
    Check('jwtJwksUrl', (url, { jwtIssuer }) =>
      url !== undefined && jwtIssuer === undefined ? WITHOUT_ISSUER : undefined,
    ),
  );
}

/** One word of a few, in any case of letters. Each spelling stands beside the value that it means. */
export function Choice(choices: readonly (readonly [spelling: string, value: unknown])[]): PropertyDecorator {
  const values = new Map<unknown, unknown>(choices);
  const spellings = [...values.keys()].join(', ');
  return applyDecorators(
    Transform(({ value }) => {
      const spelling = (value as string).toLowerCase();
      return values.has(spelling) ? values.get(spelling) : (value as unknown);
    }),
    IsIn([...values.values()], {
      message: ({ value }: ValidationArguments) => `is ${quote(value)}, should be one of ${spellings}`,
    }),
  );
}

/** The least level that is logged, by the names of Nest and by those that are usual elsewhere. */
export function LogLevelName(): PropertyDecorator {
  return Choice([
    ['fatal', 'fatal'],
    ['error', 'error'],
    ['warn', 'warn'],
    ['info', 'log'],
    ['log', 'log'],
    ['debug', 'debug'],
    ['trace', 'verbose'],
    ['verbose', 'verbose'],
  ]);
}

/** What is switched on or off. */
export function OnOrOff(): PropertyDecorator {
  return Choice([
    ['on', true],
    ['off', false],
    ['true', true],
    ['false', false],
    ['1', true],
    ['0', false],
  ]);
}

/** The URL of a PostgreSQL database, which must go with `databasePassword`. A fault shows neither. */
export function PostgresUrl(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).trim()),
    Check('postgresUrl', (url, { databasePassword }) => {
      if (url === undefined) return undefined;
      try {
        parseDatabaseUrl(url as string, databasePassword);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    }),
  );
}

/** Refuses to start in production without a value. `should` says what to set. */
export function RequiredInProduction(should: string): PropertyDecorator {
  return Check('requiredInProduction', (value, { production }) =>
    value === undefined && production ? `is missing, in production it should be ${should}` : undefined,
  );
}

const EVERY_ADDRESS = ['0.0.0.0', '::'];

function hostsOverlap({ host, managementHost }: Environment): boolean {
  return host === managementHost || [host, managementHost].some((name) => EVERY_ADDRESS.includes(name));
}

/** Refuses the port of the public listener for the management listener, where the two would meet. */
export function SeparatePort(): PropertyDecorator {
  return Check('separatePort', (value, environment) =>
    value === environment.port && value !== 0 && hostsOverlap(environment)
      ? `is ${String(value)}, as PORT is, should be another port`
      : undefined,
  );
}

// Strict, because Number() also takes "1e3", "0x10" and "", and rounds beyond 15 digits.
const parseOfWholeNumber = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text);

/** A whole number in decimal digits, from `least` to `most`. */
export function WholeNumber(least: number, most: number, what = 'a whole number'): PropertyDecorator {
  const message = ({ value }: ValidationArguments) =>
    `is ${quote(value)}, should be ${what} from ${String(least)} to ${String(most)}`;
  return applyDecorators(
    Transform(({ value }) => parseOfWholeNumber(value as string)),
    IsInt({ message }),
    Min(least, { message }),
    Max(most, { message }),
  );
}
