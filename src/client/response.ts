import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import { type KnownErrorBody, PlantStoreError, UnexpectedResponseError } from './errors.js';
import { type components, NEW_PLANT_FIELDS } from './generated/openapi.js';

/** A plant as the store answers with it. */
export type Plant = components['schemas']['Plant'];

/** The plant that the store created. @throws PlantStoreError, UnexpectedResponseError where the answer is none */
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
