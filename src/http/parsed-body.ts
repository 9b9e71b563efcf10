import { JsonNumber, type JsonObject, type JsonValue, toJsonValue } from './json-value.js';

/**
 * What an application's own parser made of a body, as far as it is still exact. Of a number that JavaScript may have rounded
 * neither the size nor its being an integer is known any more.
 */
export function exactObject(body: object): JsonObject {
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, exactValue(value)]));
}

function exactValue(value: unknown): JsonValue {
  const isRounded = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return isRounded ? new JsonNumber(String(value), false) : toJsonValue(value);
}
