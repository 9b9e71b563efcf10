import type { components } from './generated/openapi.js';

/**
 * The plant as JSON, its id digit by digit: `JSON.stringify` takes no bigint.
 *
 * @throws TypeError for an id that is not exactly known
 */
export function serializePlant({ id, name, tag }: components['schemas']['NewPlant']): string {
  const fields: Record<string, string | undefined> = {
    id: integer(id),
    name: JSON.stringify(name),
    tag: JSON.stringify(tag),
  };
  const members = Object.entries(fields).filter(([, json]) => json !== undefined);
  return `{${members.map(([field, json = '']) => `"${field}":${json}`).join(',')}}`;
}

/** A number is taken from callers in JavaScript, as far as none is rounded. Whether it fits int64 the store says. */
function integer(id: unknown): string {
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id);
  const found = typeof id === 'number' ? `the number ${id}, which is no exact integer` : `of type ${typeof id}`;
  throw new TypeError(`id is ${found}. It must be a bigint, such as 9007199254740993n.`);
}
