import { type components, NEW_PLANT_FIELDS } from './generated/openapi.js';

/** A plant to create; its `id` is any int64. */
export type NewPlant = components['schemas']['NewPlant'];

const FIELDS = Object.keys(NEW_PLANT_FIELDS) as (keyof NewPlant)[];
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * The plant as JSON, its id digit by digit: `JSON.stringify` takes no bigint.
 *
 * @throws TypeError for an id that is not exactly known
 */
export function serializePlant(plant: NewPlant): string {
  const members = FIELDS.flatMap((field) => {
    const json = field === 'id' ? integer(plant.id) : (JSON.stringify(plant[field]) as string | undefined);
    return json === undefined ? [] : [`"${field}":${json}`];
  });
  return `{${members.join(',')}}`;
}

/** A number is taken from callers in JavaScript, as far as none is rounded. Whether it fits int64 the store says. */
function integer(id: unknown): string {
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id);
  const found = typeof id === 'number' ? `the number ${id}, which is no exact integer` : `of type ${typeof id}`;
  throw new TypeError(`id is ${found}. It must be a bigint, such as 9007199254740993n.`);
}

/** 128 random bits. `crypto.randomUUID` is missing in pages that do not come by https. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @throws TypeError for a key that could not be sent as it is */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return;
  throw new TypeError('idempotencyKey must have 1 to 255 characters of ASCII, without a space at either end.');
}
