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
