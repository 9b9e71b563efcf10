import 'reflect-metadata';
import { applyDecorators, type Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { isInt, ValidateBy, ValidateNested, validateSync, type ValidationError } from 'class-validator';

/** Options that cannot be used. Each fault is a line: the option, the value found, and the value it should be. */
export class OptionsError extends Error {
  /** @param owner the class that takes these options */
  constructor(owner: string, faults: readonly string[], options?: ErrorOptions) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`, options);
  }
}

type OptionsClass<T extends object = object> = new () => T;

/** The options that a caller may give. The initialisers of the class are the defaults of the others. */
export type OptionsOf<T, Required extends keyof T = never> = Pick<T, Required> & {
  [Name in keyof Omit<T, Required>]?: T[Name] | undefined;
};

/** Describes a wrong value. A text is described by its type alone, because it may be a secret. */
export function describeFound(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `is ${value}`;
  const type = Array.isArray(value) ? 'array' : typeof value;
  return `is ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** Checks a field, even if it was not given. `findFault` also gets all options, and returns what is wrong. */
export function Rule(findFault: (value: unknown, options: never) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name: 'rule',
    validator: {
      validate: (value, args) => findFault(value, args?.object as never) === undefined,
      defaultMessage: (args) => findFault(args?.value, args?.object as never) ?? '',
    },
  });
}

/** What a value should be: the words behind "should be", and the test. */
export type Requirement<T = unknown> = readonly [what: string, holds: (value: unknown) => value is T];

export function wholeNumber(from: number, to: number, unit = ''): Requirement<number> {
  const holds = (value: unknown): value is number => isInt(value) && Number(value) >= from && Number(value) <= to;
  return [`a whole number${unit} from ${from} to ${to}`, holds];
}

export function oneOf<Word extends string>(...words: readonly Word[]): Requirement<Word> {
  const what = words.length > 1 ? `one of ${words.join(', ')}` : words.join();
  return [what, (value): value is Word => words.includes(value as Word)];
}

/** Checks a field that is given or required. */
export function ShouldBe(what: string, holds: (value: unknown) => boolean, required = false): PropertyDecorator {
  return Rule((value) =>
    (value === undefined && !required) || holds(value) ? undefined : `${describeFound(value)}, should be ${what}`,
  );
}

const NESTED = Symbol('NESTED');
type ClassOf = (given: object) => OptionsClass;

/** Options within options. `classOf` chooses their class by the given value. */
export function Nested(what: string, classOf: ClassOf, required = false): PropertyDecorator {
  return applyDecorators(Reflect.metadata(NESTED, classOf), ValidateNested(), ShouldBe(what, isRecord, required));
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Fills the class with the given options. Throws one error with every fault, such as a name that is no option. */
export function checkOptions<T extends object>(Options: OptionsClass<T>, given: unknown, owner: string): T {
  const options = assignOptions(Options, isRecord(given) ? given : {});
  const faults = validateSync(options, { whitelist: true, forbidNonWhitelisted: true }).flatMap(faultLines);
  if (faults.length > 0) throw new OptionsError(owner, faults);
  return options;
}

/**
 * Pools, and the checks of the start, need the options before the first request.
 * @throws OptionsError if the factory gets something that Nest makes for each request
 */
export function assertNotRequestScoped(moduleRef: ModuleRef, Options: Type, owner: string): void {
  try {
    moduleRef.get(Options, { strict: true });
  } catch (cause) {
    const fault = 'inject: depends on the request, should have only what is there at the start';
    throw new OptionsError(owner, [fault], { cause });
  }
}

/** Assigns and never transforms: a pool or a function stays the same object. */
function assignOptions<T extends object>(Options: OptionsClass<T>, given: object): T {
  const options = new Options();
  // The given object may be an instance whose options are getters of its class, so the names of `Options` count too.
  for (const name of new Set([...Object.keys(options), ...Object.keys(given)])) {
    const value: unknown = Reflect.get(given, name);
    if (value === undefined) continue;
    const classOf = Reflect.getMetadata(NESTED, options, name) as ClassOf | undefined;
    Reflect.set(options, name, classOf && isRecord(value) ? assignOptions(classOf(value), value) : value);
  }
  return options;
}

function faultLines({ target, property, constraints = {}, children = [] }: ValidationError): string[] {
  if ('whitelistValidation' in constraints) {
    // Bun reads no constructor in an optional chain.
    const Options = target?.constructor as OptionsClass;
    const names = Object.keys(new Options());
    return [`${property}: is no option, should be one of ${names.join(', ')}`];
  }
  const [fault] = Object.values(constraints);
  if (fault !== undefined) return [`${property}: ${fault}`];
  return children.flatMap(faultLines).map((below) => `${property}.${below}`);
}
