import 'reflect-metadata';
import { applyDecorators } from '@nestjs/common';
import { isIn, isInt, isString, max, min, ValidateBy, validateSync, type ValidationArguments } from 'class-validator';
import { quote } from './text.js';

/** Options that cannot be used. The message has a line for each fault: the option, what was found, and what it should be. */
export class OptionsError extends Error {
  /** @param owner the class that takes these options */
  constructor(owner: string, faults: readonly string[]) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`);
  }
}

type OptionsClass<T extends object = object> = new () => T;

/**
 * What a caller may give for a class of options: what is required, never what is refused, and any of the others. A field that
 * may be left out has its default as initialiser.
 */
export type Given<T, Required extends keyof T = never, Refused extends keyof T = never> = Pick<T, Required | Refused> &
  OrUndefined<Omit<T, Required | Refused>>;
type OrUndefined<T> = { [Name in keyof T]?: T[Name] | undefined };

const NESTED = Symbol('NESTED');

/** What was found in place of the right value. A text is described by its type, unless it may be shown: it may be a secret. */
export function describeFound(value: unknown, shown = false): string {
  if (value === undefined) return 'is missing';
  if (shown) return `is ${quote(value)}`;
  if (value === null || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `is ${String(value)}`;
  return `is ${/^[ao]/.test(typeof value) ? 'an' : 'a'} ${Array.isArray(value) ? 'array' : typeof value}`;
}

/** What is wrong with a value, if anything. `found` describes the value as messages may; `options` are all of the class. */
type FindFault<T = never> = (value: unknown, options: T, found: string) => string | undefined;

/** A rule of a field that reports by itself what is wrong. All other rules are built on it. */
export function Rule<T>(findFault: FindFault<T>): PropertyDecorator {
  const faultOf = ({ value, object }: ValidationArguments): string | undefined =>
    findFault(value, object as T, describeFound(value));
  return ValidateBy({
    name: 'rule',
    validator: {
      validate: (_value, args) => args === undefined || faultOf(args) === undefined,
      defaultMessage: (args) => (args && faultOf(args)) ?? '',
    },
  });
}

/** What a field should be, if it is given or required. @param what follows "should be" */
export function Should(what: string, holds: (value: unknown) => boolean, required = false): PropertyDecorator {
  return Rule((value, _options, found) =>
    (value === undefined && !required) || holds(value) ? undefined : `${found}, should be ${what}`,
  );
}

export function WholeNumber(from: number, to: number, what = 'a whole number'): PropertyDecorator {
  return Should(`${what} from ${from} to ${to}`, (value) => isInt(value) && min(value, from) && max(value, to));
}

const DAY_MS = 86_400_000;

export function Milliseconds(from = 1, to = DAY_MS): PropertyDecorator {
  return WholeNumber(from, to, 'a whole number of milliseconds');
}

export function Choice(values: readonly unknown[]): PropertyDecorator {
  return Should(`one of ${values.join(', ')}`, (value) => isIn(value, values));
}

export function Matching(what: string, pattern: RegExp): PropertyDecorator {
  return Should(what, (value) => isString(value) && pattern.test(value));
}

export function FunctionThat(does: string): PropertyDecorator {
  return Should(`a function that ${does}`, (value) => typeof value === 'function');
}

/** A field that is no option here. @param fault what to do instead */
export function Refused(fault: string): PropertyDecorator {
  return Rule((value) => (value === undefined ? undefined : fault));
}

type ClassOf = (given: object) => OptionsClass;

/** Options within options. @param classOf the class of what is given, which may depend on it */
export function Nested(what: string, classOf: ClassOf, required = false): PropertyDecorator {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  return applyDecorators(Reflect.metadata(NESTED, classOf), Should(what, isObject, required));
}

/** The names of a class of options, in the order of their declaration. */
export function optionNames(Options: OptionsClass): string[] {
  return Object.keys(new Options());
}

/** What is wrong with the fields of an object, by the rules of its class. */
function faultsByName(options: object): Map<string, string> {
  const errors = validateSync(options, { stopAtFirstError: true });
  return new Map(errors.map(({ property, constraints = {} }) => [property, Object.values(constraints)[0] ?? '']));
}

/**
 * The options of a class: what was given, and the initialisers in place of the rest. Throws an error that has every fault. All is
 * checked, names too: JavaScript has no types.
 *
 * @param elsewhere what to add to the names that there are, if one is unknown
 */
export function checkOptions<T extends object>(
  Options: OptionsClass<T>,
  given: unknown,
  owner: string,
  elsewhere = '',
): T {
  const faults: string[] = [];
  const options = fill(Options, typeof given === 'object' ? (given ?? {}) : {}, faults, '', elsewhere);
  if (faults.length > 0) throw new OptionsError(owner, faults);
  return options;
}

/** Assigns, and never transforms: a pool or a function stays the very object that the application gave. */
function fill<T extends object>(
  Options: OptionsClass<T>,
  given: object,
  faults: string[],
  path = '',
  elsewhere = '',
): T {
  const options = new Options();
  const names = Object.keys(options);
  const others = Object.keys(given).filter((name) => !names.includes(name));
  for (const name of others) {
    faults.push(`${path}${name}: is no option, should be one of ${names.join(', ')}${elsewhere}`);
  }
  for (const name of names) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined) Reflect.set(options, name, value);
  }
  const invalid = faultsByName(options);
  for (const [name, value] of Object.entries(options)) {
    const found = invalid.get(name);
    const classOf = Reflect.getMetadata(NESTED, options, name) as ClassOf | undefined;
    if (found !== undefined) faults.push(`${path}${name}: ${found}`);
    else if (classOf && value !== undefined)
      Reflect.set(options, name, fill(classOf(value as object), value as object, faults, `${path}${name}.`));
  }
  return options;
}
