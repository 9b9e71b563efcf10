import { ApiError } from '../errors/api.error.js';
import { JsonNumber, type JsonObject, JsonStructure, type JsonValue } from './json-value.js';

/**
 * What an application's own parser made of a body, as far as it is still exact. A number that JavaScript may have rounded is
 * not: neither its size nor its being an integer is known any more.
 *
 * @throws ApiError 40003 for such a number, saying what the application has to switch on
 */
export function exactObject(body: object): JsonObject {
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, exactValue(key, value)]));
}

function exactValue(key: string, value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return new JsonNumber(String(value));
      throw new ApiError(
        40003,
        `${key} is a number that this application's own JSON parser may have rounded, so it is refused. ` +
          'Create the application with `rawBody: true` or `bodyParser: false`, and every number is known exactly.',
      );
    default:
      return value === null ? null : new JsonStructure(Array.isArray(value) ? 'array' : 'object');
  }
}
