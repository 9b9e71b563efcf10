/** The options that were given, by name: none where what was given is no object. JavaScript has no types. */
export function givenOptions(options: unknown): Record<string, unknown> {
  return (typeof options === 'object' ? (options ?? {}) : {}) as Record<string, unknown>;
}

/** What stands in place of an option, in words that repeat no text: it may be a secret. */
export function describeOption(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `is ${String(value)}`;
  return `is ${/^[ao]/.test(typeof value) ? 'an' : 'a'} ${Array.isArray(value) ? 'array' : typeof value}`;
}

/** The faults of names that are no options. */
export function unknownNames(options: object, known: readonly string[], prefix = ''): string[] {
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  return unknown.map((name) => `${prefix}${name}: is no option, should be one of ${known.join(', ')}`);
}

/** The fault of an option that has to be a whole number, or none. */
export function numberFault(name: string, value: unknown, most: number, least = 1): string[] {
  if (value === undefined || (Number.isInteger(value) && Number(value) >= least && Number(value) <= most)) return [];
  return [`${name}: ${describeOption(value)}, should be a whole number from ${least} to ${most}`];
}

/** The longest that a wait may be asked for. */
export const DAY_MS = 86_400_000;

/** The names that the `forRootAsync` of a module knows, besides Nest's own. */
interface AsyncNames {
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

/** Something that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export abstract class OptionsError extends Error {
  /** @param owner whose options they are */
  constructor(owner: string, faults: readonly string[]) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`);
  }
}
