import 'reflect-metadata';
import { applyDecorators } from '@nestjs/common';
import { ValidateBy, validateSync, type ValidationArguments } from 'class-validator';
import { quote } from './text.js';

/** Settings that cannot be used. The message has a line for each fault: the option, what was found, and what it should be. */
export abstract class OptionsError extends Error {
  /** @param owner whose options they are */
  constructor(owner: string, faults: readonly string[]) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`);
  }
}

type OptionsClass<T extends object = object> = new () => T;
type OptionsErrorClass = new (faults: readonly string[]) => OptionsError;

/**
 * What a caller may give for a class of options: what is required, never what is refused, and any of the others. A field that
 * may be left out has its default as initialiser.
 */
export type Given<T, Required extends keyof T = never, Refused extends keyof T = never> = Pick<T, Required | Refused> &
  OrUndefined<Omit<T, Required | Refused>>;
type OrUndefined<T> = { [Name in keyof T]?: T[Name] | undefined };

const SHOWN = Symbol('SHOWN');
const NESTED = Symbol('NESTED');
const REFUSED = Symbol('REFUSED');

/** Lets messages repeat the value of a field. Without it they describe a text by its type: it may be a secret. */
export function Shown(): PropertyDecorator {
  return Reflect.metadata(SHOWN, true);
}

/** What was found in place of the right value. */
export function describeFound(value: unknown, shown = false): string {
  if (value === undefined) return 'is missing';
  if (shown) return `is ${quote(value)}`;
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `is ${String(value)}`;
  return `is ${/^[ao]/.test(typeof value) ? 'an' : 'a'} ${Array.isArray(value) ? 'array' : typeof value}`;
}

/** What is wrong with a value, if anything. `found` describes the value as messages may; `options` are all of the class. */
type FindFault<T> = (value: unknown, options: T, found: string) => string | undefined;

/** A rule of a field that says by itself what is wrong. All other rules are made of it. */
export function Rule<T extends object>(findFault: FindFault<T>): PropertyDecorator {
  const faultOf = ({ value, object, property }: ValidationArguments): string | undefined =>
    findFault(value, object as T, describeFound(value, Reflect.hasMetadata(SHOWN, object, property)));
  return ValidateBy({
    name: 'rule',
    validator: {
      validate: (_value, args) => args === undefined || faultOf(args) === undefined,
      defaultMessage: (args) => (args && faultOf(args)) ?? '',
    },
  });
}

/** What a field should be where it is given. @param what follows "should be" */
export function Should(what: string, holds: (value: unknown) => boolean): PropertyDecorator {
  return Rule((value, _options, found) =>
    value === undefined || holds(value) ? undefined : `${found}, should be ${what}`,
  );
}

export function WholeNumber(min: number, max: number, what = 'a whole number'): PropertyDecorator {
  const holds = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return Should(`${what} from ${min} to ${max}`, holds);
}

export const DAY_MS = 86_400_000;

/** A time to wait. */
export function Milliseconds(max = DAY_MS): PropertyDecorator {
  return WholeNumber(1, max, 'a whole number of milliseconds');
}

export function Choice(values: readonly unknown[], spellings = values): PropertyDecorator {
  return Should(`one of ${spellings.join(', ')}`, (value) => values.includes(value));
}

export function Text(what = 'a string', pattern = /^/): PropertyDecorator {
  return Should(what, (value) => typeof value === 'string' && pattern.test(value));
}

export function FunctionThat(does: string): PropertyDecorator {
  return Should(`a function that ${does}`, (value) => typeof value === 'function');
}

/** A field that is no option here, and says what to do instead. */
export function Refused(fault: string): PropertyDecorator {
  return applyDecorators(
    Reflect.metadata(REFUSED, true),
    Rule((value) => (value === undefined ? undefined : fault)),
  );
}

type ClassOf = (given: Record<string, unknown>) => OptionsClass;

/** Options within options. @param classOf the class of what is given, which may depend on it */
export function Nested(what: string, classOf: ClassOf, required = false): PropertyDecorator {
  const rule = Rule((value, _options, found) =>
    isObject(value) || (value === undefined && !required) ? undefined : `${found}, should be ${what}`,
  );
  return applyDecorators(Reflect.metadata(NESTED, classOf), rule);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The names of a class of options, in the order of their declaration. */
export function optionNames(Options: OptionsClass): string[] {
  const options = new Options();
  return Object.keys(options).filter((name) => !Reflect.hasMetadata(REFUSED, options, name));
}

/** What is wrong with the fields of an object, by the rules of its class. */
export function faultsByName(options: object): Map<string, string> {
  const errors = validateSync(options, { stopAtFirstError: true });
  return new Map(errors.map(({ property, constraints = {} }) => [property, Object.values(constraints)[0] ?? '']));
}

interface OtherNames {
  /** Options that something else checks. */
  known?: readonly string[];
  /** Options that are not read here, and what to do instead. */
  misplaced?: readonly string[];
  fault?: string;
}

/**
 * The options of a class: what was given, and the initialisers in place of the rest. Throws an error that has every fault. All is
 * checked, names too: JavaScript has no types.
 */
export function checkOptions<T extends object>(
  Options: OptionsClass<T>,
  given: unknown,
  RefusedError: OptionsErrorClass,
  { known = [], misplaced = [], fault = '' }: OtherNames = {},
): T {
  const values = (typeof given === 'object' ? (given ?? {}) : {}) as Record<string, unknown>;
  const faults: string[] = [];
  const options = fill(Options, values, '', (name, path, own) => {
    if (path === '' && misplaced.includes(name)) faults.push(`${name}: ${fault}`);
    else if (path !== '' || !known.includes(name)) {
      const names = path === '' ? [...new Set([...own, ...known])] : own;
      faults.push(`${path}${name}: is no option, should be one of ${names.join(', ')}`);
    }
  });
  faults.push(...faultsOf(options, ''));
  if (faults.length > 0) throw new RefusedError(faults);
  return options;
}

type OnUnknown = (name: string, path: string, own: readonly string[]) => void;

/** Assigns, and never transforms: a pool, an adapter or a function stays the very object that the application gave. */
function fill<T extends object>(
  Options: OptionsClass<T>,
  given: Record<string, unknown>,
  path: string,
  onUnknown: OnUnknown,
): T {
  const options = new Options();
  const names = Object.keys(options);
  for (const name of Object.keys(given)) if (!names.includes(name)) onUnknown(name, path, optionNames(Options));
  for (const name of names) {
    const value = given[name];
    if (value === undefined) continue;
    const classOf = Reflect.getMetadata(NESTED, options, name) as ClassOf | undefined;
    const own = classOf && isObject(value) ? fill(classOf(value), value, `${path}${name}.`, onUnknown) : value;
    Object.assign(options, { [name]: own });
  }
  return options;
}

function faultsOf(options: object, path: string): string[] {
  const faults = faultsByName(options);
  return Object.entries(options).flatMap(([name, value]) => {
    const fault = faults.get(name);
    if (fault !== undefined) return [`${path}${name}: ${fault}`];
    return Reflect.hasMetadata(NESTED, options, name) && isObject(value) ? faultsOf(value, `${path}${name}.`) : [];
  });
}

/** Nest takes the first of several sources, and ignores the others. */
function InsteadOf(...names: (keyof AsyncOptions)[]): PropertyDecorator {
  return Rule<AsyncOptions>((source, options) => {
    const other = names.find((name) => options[name] !== undefined);
    return source === undefined || other === undefined
      ? undefined
      : `is given in addition to ${other}, should be left out, or that one`;
  });
}

/** What Nest knows of the options of `forRootAsync`. */
class AsyncOptions {
  @Rule<AsyncOptions>((useFactory, { useClass, useExisting }, found) =>
    typeof useFactory === 'function' || (useFactory === undefined && (useClass ?? useExisting) !== undefined)
      ? undefined
      : `${found}, should be a function that returns the options`,
  )
  useFactory?: unknown;
  @InsteadOf('useFactory')
  @Should('a class', (value) => typeof value === 'function')
  useClass?: unknown;
  @InsteadOf('useFactory', 'useClass')
  useExisting?: unknown;
  @Should('an array of injection tokens', Array.isArray)
  inject?: unknown;
  provideInjectionTokensFrom?: unknown;
  imports?: unknown;
}

/** Throws where Nest would ignore, or fail at, something in what `forRootAsync` was given. @param options the class of what the factory returns */
export function checkAsyncOptions(
  given: unknown,
  { extras = [], options }: { extras?: readonly string[]; options: OptionsClass },
  RefusedError: OptionsErrorClass,
): void {
  const fault = 'is not read here, should be returned by the factory';
  checkOptions(AsyncOptions, given, RefusedError, { known: extras, misplaced: optionNames(options), fault });
}
