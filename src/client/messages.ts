import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import { type KnownErrorBody, PlantStoreError, UnexpectedResponseError } from './errors.js';
import { type components, NEW_PLANT_FIELDS } from './generated/openapi.js';

/** A plant to create. @interface */
export type NewPlant = components['schemas']['NewPlant'];

/** A plant as the store answers with it: without the id. @interface */
export type Plant = components['schemas']['Plant'];

const FIELDS = Object.keys(NEW_PLANT_FIELDS) as (keyof NewPlant)[];

/** As JSON: `JSON.stringify` takes no bigint. @throws TypeError for an id that is not exactly known */
export function serializePlant(plant: NewPlant): string {
  const members = FIELDS.flatMap((field) => {
    const json = field === 'id' ? integer(plant.id) : (JSON.stringify(plant[field]) as string | undefined);
    return json === undefined ? [] : [`"${field}":${json}`];
  });
  return `{${members.join(',')}}`;
}

/** Accepts a number from callers in JavaScript, unless it may be rounded. The store checks the range of int64. */
function integer(id: unknown): string {
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id);
  const found = typeof id === 'number' ? `the number ${id}, which is no exact integer` : `of type ${typeof id}`;
  throw new TypeError(`id is ${found}. It must be a bigint, such as 9007199254740993n.`);
}

/**
 * A new `idempotencyKey`, 128 random bits in hexadecimal. Store it before the first attempt, to repeat a create after a crash of your process.
 *
 * @throws TypeError if the runtime has no `crypto.getRandomValues`
 * @example
 * import { newIdempotencyKey } from 'plant-store/client';
 *
 * console.log(newIdempotencyKey().length); // 32
 */
export function newIdempotencyKey(): string {
  const { getRandomValues } = Object((globalThis as { crypto?: unknown }).crypto) as Partial<typeof crypto>;
  if (!getRandomValues)
    throw new TypeError('idempotencyKey must be given for each create: there is no crypto here to make one.');
  // `crypto.randomUUID` is missing in pages without https.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The plant that the store created. @throws PlantStoreError, UnexpectedResponseError if the answer has no plant */
export async function readResponse(url: string, response: Response, idempotencyKey: string): Promise<Plant> {
  const body = parse(await response.text());
  if (response.ok && isPlant(body)) return body;
  if (!response.ok && isKnownError(body)) throw new PlantStoreError(body, response, idempotencyKey);
  throw new UnexpectedResponseError(url, response, body, idempotencyKey);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isPlant(body: unknown): body is Plant {
  const plant = fields(body);
  return Object.entries(NEW_PLANT_FIELDS).every(([name, isRequired]) => {
    // The answer has no id.
    if (name === 'id') return true;
    return typeof plant[name] === 'string' || (!isRequired && plant[name] === undefined);
  });
}

function isKnownError(body: unknown): body is KnownErrorBody {
  const { error, message } = fields(body);
  return typeof error === 'number' && Object.hasOwn(ERROR_CATALOGUE, error) && typeof message === 'string';
}

function fields(body: unknown): Record<string, unknown> {
  return (body ?? {}) as Record<string, unknown>;
}
