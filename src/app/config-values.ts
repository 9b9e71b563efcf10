import { applyDecorators } from '@nestjs/common';
import { isFQDN, isIP } from 'class-validator';
import { readFileSync, statSync } from 'node:fs';
import { findNearest } from '../util/did-you-mean.js';
import { Choice, Rule, Should, Shown, WholeNumber } from '../util/options.js';
import { quote } from '../util/text.js';

/** What is known of an environment variable; documentation and example files are checked against it. */
interface VariableDescription {
  /** Name of the environment variable: DATABASE_URL for databaseUrl. */
  name: string;
  /** One line of explanation. */
  about: string;
  /** A secret also reads from the file that `<name>_FILE` names, and its value is never shown. */
  secret: boolean;
  /** Property of the environment class that holds its value. */
  property: string;
  /** The value that setting it to its default would take, empty if it has none. */
  default: string;
}

type VariableName = Pick<VariableDescription, 'name' | 'secret'>;
type Row = Pick<VariableDescription, 'about' | 'secret'> & { written?: string };

const VARIABLE = Symbol('VARIABLE');
const READ = Symbol('READ');

/** Reads a property from the environment variable of its name. The initialiser is the default. @param written the default as text */
export function Variable(about: string, written?: string): PropertyDecorator {
  return applyDecorators(Reflect.metadata(VARIABLE, { about, secret: false, written }), Shown);
}

export function Secret(about: string): PropertyDecorator {
  return Reflect.metadata(VARIABLE, { about, secret: true });
}

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

/** How the text of a variable becomes a value, if the initialiser does not say it: a number, a list, or a text. */
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

/** A secret without the white space around it. */
export const Trimmed = Read((text) => text.trim());

/** Texts that commas or white space separate. */
export const Texts = Read((text) => text.split(/[\s,]+/).filter((one) => one !== ''));

/** The variable that was set, which may be a `_FILE`; its text, or why that could not be read. Without both it is not set. */
type VariableSource = Readonly<{ name: string; text?: string; fault?: string }>;

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
  // White space around a password may be part of it; the other secrets are trimmed when they are parsed.
  return { name, text: secret ? text : text.trim() };
}

/** The path of a secret's file, if it can be read again: a pipe cannot, as nothing writes to it twice. */
export function rereadableFile(name: string, variables: NodeJS.ProcessEnv): string | undefined {
  const path = (variables[`${name}_FILE`] ?? '').trim();
  return path === '' || statSync(path, { throwIfNoEntry: false })?.isFile() === false ? undefined : path;
}

/** Whether the words are the same, apart from one typing error each. A looser rule would take DATABASE_PORT of another program for DATABASE_URL. */
function isMisspelled(given: string, name: string): boolean {
  const [words = [], meant = []] = [given, name].map((text) => text.toUpperCase().split('_').filter(Boolean));
  if (words.join('') === meant.join('')) return true;
  return words.length === meant.length && words.every((word, index) => findNearest(word, [meant[index] ?? '']));
}

/**
 * Unknown variables with names similar to one of these: a line for each. Names of a single word, such as PORT, are
 * similar to too many of other programs.
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

export const HostAddress = Should(
  'an IP address or a host name, without brackets or port',
  (host) => isIP(host) || isHostName(host),
);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i;

/** As browsers send it: in lower case, and without the default port. In any other form it would never match. */
function originOf(text: string): string | undefined {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === 'null' ? text.toLowerCase() : origin;
}

export const CorsOrigins = applyDecorators(
  Read((text) => splitList(text).map((one) => originOf(one) ?? one)),
  Rule((origins) => {
    const wrong = (origins as string[]).filter((origin) => originOf(origin) === undefined);
    const examples = 'https://app.example.com or http://localhost:5173';
    const should = `should be origins like ${examples}, without a path, separated by commas; "*" is not offered`;
    return wrong.length > 0 ? `holds ${wrong.map(quote).join(', ')}, ${should}` : undefined;
  }),
);

/** More proxies than anyone has in a row. With a number that is too high, clients could choose their address. */
const MAX_PROXIES = 32;
const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];
const SHOULD_BE_PROXIES =
  `should be how many proxies there are in a row (0 to ${MAX_PROXIES}), or their addresses, networks such as 10.0.0.0/8 ` +
  `and names of networks (${NETWORK_NAMES.join(', ')}), separated by commas: if everybody was trusted, clients could choose ` +
  'the address that they are counted by';

/** An address, or a network that is no wider than the private ones 10.0.0.0/8 and fc00::/7: a wider one has more than one owner. */
function isNetwork(text: string): boolean {
  if (NETWORK_NAMES.includes(text)) return true;
  const { address = '', length } = /^(?<address>[^/]+)(\/(?<length>\d+))?$/.exec(text)?.groups ?? {};
  // proxy-addr also takes what inet_aton() does: 2 for 0.0.0.2, and 010.0.0.1 for 8.0.0.1.
  if (!isIP(address)) return false;
  if (length === undefined) return true;
  // In any spelling, 0:0:0:0:0:ffff:10.0.0.0 too.
  const isMapped = /^[0:]+:ffff:/i.test(address);
  const [min, max] = isMapped ? [96 + 8, 128] : isIP(address, 4) ? [8, 32] : [7, 128];
  return Number(length) >= min && Number(length) <= max;
}

/** Which proxies' `X-Forwarded-For` is believed: how many there are in a row, or where they are. */
export const TrustedProxies = applyDecorators(
  Read((text) => (/^\d{1,2}$/.test(text) && Number(text) <= MAX_PROXIES ? Number(text) : splitList(text))),
  Rule((proxies) => {
    const wrong = typeof proxies === 'number' ? [] : (proxies as string[]).filter((proxy) => !isNetwork(proxy));
    return wrong.length > 0 ? `holds ${wrong.map(quote).join(', ')}, ${SHOULD_BE_PROXIES}` : undefined;
  }),
);
