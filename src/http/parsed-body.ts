import { JsonNumber, type JsonObject, JsonStructure, type JsonValue } from './json-value.js';

/**
 * What an application's own parser made of a body, as far as it is still exact. Of a number that JavaScript may have rounded
 * neither the size nor its being an integer is known any more.
 */
export function exactObject(body: object): JsonObject {
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, exactValue(value)]));
}

function exactValue(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'bigint':
      return new JsonNumber(String(value));
    case 'number':
      return new JsonNumber(String(value), Math.abs(value) <= Number.MAX_SAFE_INTEGER);
    default:
      return value === null ? null : new JsonStructure(Array.isArray(value) ? 'array' : 'object');
  }
}
