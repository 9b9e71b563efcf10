import 'reflect-metadata';
import { applyDecorators } from '@nestjs/common';
import { isInt, ValidateBy, ValidateNested, validateSync, type ValidationError } from 'class-validator';

/** Options that cannot be used. The message has a line for each fault: the option, what was found, and what it should be. */
export class OptionsError extends Error {
  /** @param owner the class that takes these options */
  constructor(owner: string, faults: readonly string[]) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`);
  }
}

type OptionsClass<T extends object = object> = new () => T;

/** What a caller may give for a class of options. A field that may be left out has its default as initialiser. */
export type Given<T, Required extends keyof T = never> = Pick<T, Required> & {
  [Name in keyof Omit<T, Required>]?: T[Name] | undefined;
};

/** What was found in place of the right value. A text is described by its type: it may be a secret. */
export function describeFound(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `is ${value}`;
  const type = Array.isArray(value) ? 'array' : typeof value;
  return `is ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** A rule of a field, also of one that was not given. `findFault` gets all options too, and returns what is wrong. */
export function Rule(findFault: (value: unknown, options: never) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name: 'rule',
    validator: {
      validate: (value, args) => findFault(value, args?.object as never) === undefined,
      defaultMessage: (args) => findFault(args?.value, args?.object as never) ?? '',
    },
  });
}

/** What a value should be: words that follow "should be", and whether it is that. */
export type Requirement<T = unknown> = readonly [what: string, holds: (value: unknown) => value is T];

export function wholeNumber(from: number, to: number, unit = ''): Requirement<number> {
  const holds = (value: unknown): value is number => isInt(value) && Number(value) >= from && Number(value) <= to;
  return [`a whole number${unit} from ${from} to ${to}`, holds];
}

export function oneOf<Word extends string>(...words: readonly Word[]): Requirement<Word> {
  const what = words.length > 1 ? `one of ${words.join(', ')}` : words.join();
  return [what, (value): value is Word => words.includes(value as Word)];
}

/** What a field should be, if it is given or required. */
export function Should(what: string, holds: (value: unknown) => boolean, required = false): PropertyDecorator {
  return Rule((value) =>
    (value === undefined && !required) || holds(value) ? undefined : `${describeFound(value)}, should be ${what}`,
  );
}

const NESTED = Symbol('NESTED');
type ClassOf = (given: object) => OptionsClass;

/** Options within options. @param classOf the class of what is given, which may depend on it */
export function Nested(what: string, classOf: ClassOf, required = false): PropertyDecorator {
  return applyDecorators(Reflect.metadata(NESTED, classOf), ValidateNested(), Should(what, isRecord, required));
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What was given, and the initialisers of the class in place of the rest. Throws an error that names every fault, also names that are no option's. */
export function checkOptions<T extends object>(Options: OptionsClass<T>, given: unknown, owner: string): T {
  const options = fill(Options, isRecord(given) ? given : {});
  const faults = validateSync(options, { whitelist: true, forbidNonWhitelisted: true }).flatMap(linesOf);
  if (faults.length > 0) throw new OptionsError(owner, faults);
  return options;
}

/** Assigns, and never transforms: a pool or a function stays the very object that the application gave. */
function fill<T extends object>(Options: OptionsClass<T>, given: object): T {
  const options = new Options();
  // Those of the class by name: an application may give an instance whose options are getters of its own class.
  for (const name of new Set([...Object.keys(options), ...Object.keys(given)])) {
    const value: unknown = Reflect.get(given, name);
    if (value === undefined) continue;
    const classOf = Reflect.getMetadata(NESTED, options, name) as ClassOf | undefined;
    Reflect.set(options, name, classOf && isRecord(value) ? fill(classOf(value), value) : value);
  }
  return options;
}

function linesOf({ target, property, constraints = {}, children = [] }: ValidationError): string[] {
  if ('whitelistValidation' in constraints) {
    const names = Object.keys(new (target?.constructor as OptionsClass)());
    return [`${property}: is no option, should be one of ${names.join(', ')}`];
  }
  const [fault] = Object.values(constraints);
  if (fault !== undefined) return [`${property}: ${fault}`];
  return children.flatMap(linesOf).map((below) => `${property}.${below}`);
}
