import { type components, NEW_PLANT_FIELDS } from './generated/openapi.js';

/** A plant to create; its `id` is any int64. */
export type NewPlant = components['schemas']['NewPlant'];

const FIELDS = Object.keys(NEW_PLANT_FIELDS) as (keyof NewPlant)[];

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

/** A new `idempotencyKey`, to store before the first attempt: 128 random bits. */
export function newIdempotencyKey(): string {
  // `crypto.randomUUID` is missing in pages that do not come by https.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
