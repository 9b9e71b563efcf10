import { applyDecorators } from '@nestjs/common';
import { isFQDN, isIP } from 'class-validator';
import { readFileSync } from 'node:fs';
import { Choice, Should, Shown, WholeNumber } from '../util/options.js';
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

/** The texts that commas separate, without white space around them. */
function splitList(list: string): string[] {
  return list.split(/\s*,\s*/).filter((text) => text !== '');
}

export const PortNumber = WholeNumber(0, 65535);

export const HostAddress = Should(
  'an IP address or a host name, without brackets or port',
  (host) => isIP(host) || isFQDN(host, { require_tld: false, allow_underscores: true }),
);
