import 'reflect-metadata';
import { applyDecorators } from '@nestjs/common';
import { ValidateBy, type ValidationArguments, validateSync } from 'class-validator';
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

const DAY_MS = 86_400_000;

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

/** Options within options. @param classOf the class of what is given, which may depend on it */
export function Nested(what: string, classOf: (given: Record<string, unknown>) => OptionsClass): PropertyDecorator {
  return applyDecorators(Reflect.metadata(NESTED, classOf), Should(what, isObject));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What was given as options, by name: none where that is no object, which JavaScript allows. */
export function givenOptions(options: unknown): Record<string, unknown> {
  return (typeof options === 'object' ? (options ?? {}) : {}) as Record<string, unknown>;
}

/** The names of a class of options, in the order of their declaration. */
export function optionNames(Options: OptionsClass): string[] {
  const options = new Options();
  return Object.keys(options).filter((name) => !Reflect.hasMetadata(REFUSED, options, name));
}

function unknownFaults(given: object, known: readonly string[], options: readonly string[], prefix = ''): string[] {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  return unknown.map((name) => `${prefix}${name}: is no option, should be one of ${options.join(', ')}`);
}

/** What is wrong with the fields of an object, by the rules of its class. */
export function faultsByName(options: object): Map<string, string> {
  const errors = validateSync(options, { stopAtFirstError: true });
  return new Map(errors.map(({ property, constraints = {} }) => [property, Object.values(constraints)[0] ?? '']));
}

/** The options of one class, and everything that is wrong with them. */
class Reading {
  readonly unknown: string[] = [];

  /** Assigns, and never transforms: a pool, an adapter or a function stays the very object that the application gave. */
  fill<T extends object>(
    Options: OptionsClass<T>,
    given: Record<string, unknown>,
    more: readonly string[],
    path = '',
  ): T {
    const options = new Options();
    const names = Object.keys(options);
    this.unknown.push(...unknownFaults(given, [...names, ...more], [...optionNames(Options), ...more], path));
    for (const name of names) {
      const value = given[name];
      if (value === undefined) continue;
      const classOf = Reflect.getMetadata(NESTED, options, name) as Parameters<typeof Nested>[1] | undefined;
      const nested = classOf && isObject(value) ? this.fill(classOf(value), value, [], `${path}${name}.`) : value;
      Object.assign(options, { [name]: nested });
    }
    return options;
  }

  faultsOf(options: object, path = ''): string[] {
    const faults = faultsByName(options);
    return Object.entries(options).flatMap(([name, value]) => {
      const fault = faults.get(name);
      if (fault !== undefined) return [`${path}${name}: ${fault}`];
      return Reflect.hasMetadata(NESTED, options, name) && isObject(value)
        ? this.faultsOf(value, `${path}${name}.`)
        : [];
    });
  }
}

interface Elsewhere {
  /** Names that are known, but are not read here. */
  names: readonly string[];
  fault: string;
}

/**
 * The options of a class: what was given, and the initialisers in place of the rest. Throws an error that has every fault. All is
 * checked, names too: JavaScript has no types.
 */
export function checkOptions<T extends object>(
  Options: OptionsClass<T>,
  given: unknown,
  RefusedError: OptionsErrorClass,
  { names, fault }: Elsewhere = { names: [], fault: '' },
): T {
  const values = givenOptions(given);
  const reading = new Reading();
  const options = reading.fill(Options, values, names);
  const misplaced = names.filter((name) => name in values).map((name) => `${name}: ${fault}`);
  const faults = [...reading.unknown, ...misplaced, ...reading.faultsOf(options)];
  if (faults.length > 0) throw new RefusedError(faults);
  return options;
}

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;
const NAMES = [...SOURCES, 'inject', 'provideInjectionTokensFrom', 'imports'];

interface AsyncNames {
  /** What is given in addition to the factory. */
  extras: readonly string[];
  /** What the factory returns. */
  options: readonly string[];
}

/** Throws where Nest would ignore, or fail at, something in what `forRootAsync` was given. */
export function checkAsyncOptions(
  given: unknown,
  { extras, options }: AsyncNames,
  RefusedError: OptionsErrorClass,
): void {
  const values = givenOptions(given);
  const known = [...new Set([...NAMES, ...extras])];
  const late = Object.keys(values).filter((name) => options.includes(name));
  const [source, ...others] = SOURCES.filter((name) => values[name] !== undefined);
  const { useFactory, useClass, inject } = values;
  const faults = [
    ...unknownFaults(values, [...known, ...late], known),
    ...late.map((name) => `${name}: is not read here, should be returned by the factory`),
    ...(source === undefined ? ['useFactory: is missing, should be a function that returns the options'] : []),
    ...others.map((name) => `${name}: is given in addition to ${String(source)}, should be left out, or that one`),
    ...wrong('useFactory', useFactory, 'a function', typeof useFactory === 'function'),
    ...wrong('useClass', useClass, 'a class', typeof useClass === 'function'),
    ...wrong('inject', inject, 'an array of injection tokens', Array.isArray(inject)),
  ];
  if (faults.length > 0) throw new RefusedError(faults);
}

function wrong(name: string, value: unknown, what: string, holds: boolean): string[] {
  return value === undefined || holds ? [] : [`${name}: ${describeFound(value)}, should be ${what}`];
}
