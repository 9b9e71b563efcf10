import { describeOption, givenOptions, unknownNames } from '../options/option-faults.js';

/** The names that the `forRootAsync` of a module knows, besides Nest's own. */
export interface AsyncNames {
  /** What stands beside the factory. */
  extras: readonly string[];
  /** What the factory returns. */
  options: readonly string[];
}

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;
const NAMES = [...SOURCES, 'inject', 'provideInjectionTokensFrom', 'imports'];

/** Everything that Nest would ignore, or stumble over, in what `forRootAsync` was given: one line each. */
export function asyncFaults(given: unknown, { extras, options }: AsyncNames): string[] {
  const values = givenOptions(given);
  const late = Object.keys(values).filter((name) => options.includes(name));
  const sources = SOURCES.filter((name) => values[name] !== undefined);
  return [
    ...unknownNames(values, [...new Set([...NAMES, ...extras, ...late])]),
    ...late.map((name) => `${name}: is not read here, should be returned by the factory`),
    ...(sources.length === 0 ? ['useFactory: is missing, should be a function that returns the options'] : []),
    ...sources.slice(1).map((name) => `${name}: stands beside ${String(sources[0])}, should be left out, or that one`),
    ...(['useFactory', 'useClass'] as const)
      .filter((name) => values[name] !== undefined && typeof values[name] !== 'function')
      .map(
        (name) => `${name}: ${describeOption(values[name])}, should be a ${name === 'useClass' ? 'class' : 'function'}`,
      ),
    ...(values.inject === undefined || Array.isArray(values.inject)
      ? []
      : [`inject: ${describeOption(values.inject)}, should be an array of injection tokens`]),
  ];
}
