import { deserialize, serialize } from 'node:v8';
import type { JsonObject } from './json-value.js';

/** The same object with texts of their own: what V8 has cut out of a text keeps all of that in memory. */
export function detached(object: JsonObject): JsonObject {
  for (const [key, value] of Object.entries(object)) {
    // Unlike an encoding, this keeps lone surrogates, which are told of later.
    if (typeof value === 'string') object[key] = deserialize(serialize(value)) as string;
  }
  return object;
}
