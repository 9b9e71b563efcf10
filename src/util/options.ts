import 'reflect-metadata';
import { applyDecorators, type Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { IsInt, Max, Min, ValidateBy, validateSync, type ValidationError } from 'class-validator';

/** Options that cannot be used. Each fault is a line, mostly in the words of class-validator. */
export class OptionsError extends Error {
  /** @param owner the class that takes these options */
  constructor(owner: string, faults: readonly string[], options?: ErrorOptions) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`, options);
  }
}

/** The options that a caller may give. The initialisers of the class are the defaults of the others. */
export type OptionsOf<T, Required extends keyof T = never> = Pick<T, Required> & {
  [Name in keyof Omit<T, Required>]?: T[Name] | undefined;
};

/**
 * Checks a field for which class-validator has no decorator. `faultOf` also gets all options. It returns the words
 * behind the name of the field.
 */
export function CheckedBy(faultOf: (value: unknown, options: never) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name: 'checkedBy',
    validator: {
      validate: (value, args) => faultOf(value, args?.object as never) === undefined,
      defaultMessage: (args) => `$property ${faultOf(args?.value, args?.object as never)}`,
    },
  });
}

export const IsIntBetween = (min: number, max: number) => applyDecorators(IsInt(), Min(min), Max(max));

/** Fills the class with the given options. A pool or a guard stays the same object, so nothing is transformed. */
export function optionsOf<T extends object>(Options: new () => T, given: unknown): T {
  const defined = Object.entries(Object(given) as object).filter(([, value]) => value !== undefined);
  return Object.assign(new Options(), Object.fromEntries(defined));
}

/** @throws OptionsError with every fault, such as a name that is no option */
export function assertValid<T extends object>(options: T, owner: string): T {
  const faults = validateSync(options, { whitelist: true, forbidNonWhitelisted: true }).flatMap(faultLines);
  if (faults.length > 0) throw new OptionsError(owner, faults);
  return options;
}

function faultLines({ property, constraints = {}, children = [] }: ValidationError): string[] {
  const below = children.flatMap(faultLines).map((fault) => `${property}: ${fault}`);
  return [...Object.values(constraints), ...below];
}

/**
 * Pools, and the checks of the start, need the options before the first request.
 * @throws OptionsError if the factory gets something that Nest makes for each request
 */
export function assertNotRequestScoped(moduleRef: ModuleRef, Options: Type, owner: string): void {
  try {
    moduleRef.get(Options, { strict: true });
  } catch (cause) {
    const fault = 'inject depends on the request, but must have only what is there at the start';
    throw new OptionsError(owner, [fault], { cause });
  }
}
