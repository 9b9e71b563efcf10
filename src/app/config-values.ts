import { applyDecorators } from '@nestjs/common';
import { isFQDN, isIP } from 'class-validator';
import { readFileSync } from 'node:fs';
import { findNearest } from '../util/did-you-mean.js';
import { Choice, Rule, Should, Shown, WholeNumber } from '../util/options.js';
import { quote } from '../util/text.js';

/** What the table says of a variable, in addition to its property, its default and its rules. */
interface Row {
  /** One line of explanation. */
  about: string;
  /** A secret also reads from the file that `<name>_FILE` names, and its value is never shown. */
  secret: boolean;
  written?: string;
}

/** What is known of an environment variable; documentation and example files are checked against it. */
interface VariableDescription extends Row {
  /** Name of the environment variable: DATABASE_URL for databaseUrl. */
  name: string;
  /** Property of the environment class that holds its value. */
  property: string;
  /** The value that setting it to its default would take, empty if it has none. */
  default: string;
}

type VariableName = Pick<VariableDescription, 'name' | 'secret'>;

const VARIABLE = Symbol('VARIABLE');
const READ = Symbol('READ');

/** Reads a property from the environment variable of its name. The initialiser is the default. @param written the default as text */
export function Variable(about: string, written?: string): PropertyDecorator {
  return applyDecorators(Reflect.metadata(VARIABLE, { about, secret: false, written }), Shown);
}

export function Secret(about: string): PropertyDecorator {
  return Reflect.metadata(VARIABLE, { about, secret: true });
}

/** The variable of a property. */
export function variableOf(property: string): string {
  return property.replace(/[A-Z]/g, '_$&').toUpperCase();
}

/** The variables of an environment class, in the order of their declaration. */
export function describeVariables(Environment: new () => object): VariableDescription[] {
  const environment = new Environment();
  return Object.entries(environment).map(([property, initial]) => {
    const row = Reflect.getMetadata(VARIABLE, environment, property) as Row;
    return { ...row, name: variableOf(property), property, default: row.written ?? String(initial ?? '') };
  });
}

/** How the text of a variable becomes a value, where the initialiser does not say it: a number, a list, or a text. */
function Read(read: (text: string) => unknown): PropertyDecorator {
  return Reflect.metadata(READ, read);
}

/** The value that a text means. One that cannot be read stays a text, which is then refused by the rules of the property. */
export function readVariable(environment: object, property: string, text: string): unknown {
  const read = Reflect.getMetadata(READ, environment, property) as ((text: string) => unknown) | undefined;
  const initial: unknown = Reflect.get(environment, property);
  if (read) return read(text);
  // Strict, because Number() also takes "1e3", "0x10" and "", and rounds beyond 15 digits.
  if (typeof initial === 'number') return /^\d{1,15}$/.test(text) ? Number(text) : text;
  return Array.isArray(initial) ? splitList(text) : text;
}

/** One word of a few, in any case of letters: each spelling with the value that it means. */
export function Word(meanings: Record<string, unknown>): PropertyDecorator {
  const values = new Map(Object.entries(meanings));
  return applyDecorators(
    Read((text) => values.get(text.toLowerCase()) ?? text),
    Choice([...values.values()], [...values.keys()]),
  );
}

/** A secret that white space around it is no part of. */
export const Trimmed = Read((text) => text.trim());

/** Texts that commas or white space separate. */
export const Texts = Read((text) => text.split(/[\s,]+/).filter((one) => one !== ''));

/** Where the text of a variable was found, and what it is; no text where it is not set. */
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
export function findVariable({ name, secret }: VariableName, variables: NodeJS.ProcessEnv): VariableSource {
  const text = variables[name] ?? '';
  const fileName = `${name}_FILE`;
  const path = secret ? (variables[fileName] ?? '').trim() : '';

  if (text.trim() === '') return path === '' ? { name } : readSecretFile(fileName, path);
  if (path !== '') return { name, fault: `is set, and so is ${fileName}: should be one of the two` };
  // White space around a password may be part of it; the other secrets are trimmed where they are parsed.
  return { name, text: secret ? text : text.trim() };
}

/** Whether each word is the other's, but for a slip. More would take DATABASE_PORT, which is another program's, for DATABASE_URL. */
function isMisspelled(given: string, name: string): boolean {
  const [words = [], meant = []] = [given, name].map((text) => text.toUpperCase().split('_').filter(Boolean));
  if (words.join('') === meant.join('')) return true;
  return words.length === meant.length && words.every((word, index) => findNearest(word, [meant[index] ?? '']));
}

/**
 * Variables that are none of these, and were probably meant to be one: a line for each. Names of a single word, such as PORT, are
 * near to too many of other programs.
 */
export function findNearMisses(known: readonly VariableName[], variables: NodeJS.ProcessEnv): string[] {
  const names = known.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : name));
  return Object.keys(variables).flatMap((given) => {
    // On Windows a name in other letters is the variable itself.
    const isOne = names.some((name) => name === given || (variables[name] && name === given.toUpperCase()));
    if (!variables[given] || isOne) return [];
    const own = names.find((name) => given === `${name}_FILE`);
    if (own !== undefined) return `${given}: has no effect, as only secrets are read from files; should be ${own}`;
    const candidates = names.filter((name) => name.includes('_') && isMisspelled(given, name));
    const meant = findNearest(given, candidates);
    if (meant === undefined) return [];
    return `${given}: is no variable of the service and has no effect, should be ${meant} if that is meant`;
  });
}

/** The texts that commas separate, without white space around them. */
function splitList(list: string): string[] {
  return list.split(/\s*,\s*/).filter((text) => text !== '');
}

export function isHostName(text: unknown): boolean {
  return isFQDN(text, { require_tld: false, allow_underscores: true });
}

export const PortNumber = WholeNumber(0, 65535);

/** An address or a name to listen on. */
export const HostAddress = Should(
  'an IP address or a host name, without brackets or port',
  (host) => isIP(host) || isHostName(host),
);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i;

/** As browsers send it: in lower case, and without the port that goes without saying. Written otherwise it would never match. */
function originOf(text: string): string | undefined {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === 'null' ? text.toLowerCase() : origin;
}

function originFault(origin: string): string | undefined {
  if (origin === '*') return 'is "*", which is not offered: should be a list of the origins that may call';
  if (originOf(origin) !== undefined) return undefined;
  return `holds ${quote(origin)}, should be origins like https://app.example.com or http://localhost:5173, without a path, separated by commas`;
}

/** Origins of web pages, separated by commas. */
export const CorsOrigins = applyDecorators(
  Read((text) => splitList(text).map((one) => originOf(one) ?? one)),
  Rule((origins) => (origins as string[]).flatMap((origin) => originFault(origin) ?? []).join('; ') || undefined),
);

/** More than anybody has in a row. Each one too many would let clients choose their address. */
const MAX_PROXIES = 32;
const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];
const SHOULD_BE_PROXIES =
  `should be how many proxies there are in a row (0 to ${MAX_PROXIES}), or their addresses, networks such as 10.0.0.0/8 ` +
  `and names of networks (${NETWORK_NAMES.join(', ')}), separated by commas: if everybody was trusted, clients could choose ` +
  'the address that they are counted by';

function proxiesFault(proxies: number | string[]): string | undefined {
  if (typeof proxies === 'number') return proxies <= MAX_PROXIES ? undefined : `is "${proxies}", ${SHOULD_BE_PROXIES}`;
  const wrong = proxies.filter((proxy) => !NETWORK_NAMES.includes(proxy) && !isNetwork(proxy));
  return wrong.length > 0 ? `holds ${wrong.map(quote).join(', ')}, ${SHOULD_BE_PROXIES}` : undefined;
}

/** An address, or a network that is no wider than the private ones 10.0.0.0/8 and fc00::/7: wider ones are nobody's own. */
function isNetwork(text: string): boolean {
  const { address = '', length } = /^(?<address>[^/]+)(\/(?<length>\d+))?$/.exec(text)?.groups ?? {};
  // proxy-addr also takes what inet_aton() does: 2 for 0.0.0.2, and 010.0.0.1 for 8.0.0.1.
  if (!isIP(address)) return false;
  if (length === undefined) return true;
  const isMapped = address.toLowerCase().startsWith('::ffff:');
  const [min, max] = isMapped ? [96 + 8, 128] : isIP(address, 4) ? [8, 32] : [7, 128];
  return Number(length) >= min && Number(length) <= max;
}

/** Which proxies' `X-Forwarded-For` is believed: how many there are in a row, or where they are. */
export const TrustedProxies = applyDecorators(
  Read((text) => (/^\d{1,3}$/.test(text) ? Number(text) : splitList(text))),
  Rule((proxies) => proxiesFault(proxies as number | string[])),
);
