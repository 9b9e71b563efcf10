/** A JSON number as it was written: no float ever holds it, so nothing is rounded. */
export class JsonNumber {
  constructor(
    readonly source: string,
    /** Not where an application's own parser has read it before, and what was written may have been another number. */
    readonly isExact = true,
  ) {}
}

/** An object or array inside the document: its syntax was checked, its content is not kept. */
export class JsonStructure {
  constructor(readonly kind: 'object' | 'array') {}
}

export type JsonValue = string | boolean | null | JsonNumber | JsonStructure;
export type JsonObject = Record<string, JsonValue>;

/** A value of JavaScript as JSON would have it. */
export function toJsonValue(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
    case 'bigint':
      return new JsonNumber(String(value));
    default:
      return value === null ? null : new JsonStructure(Array.isArray(value) ? 'array' : 'object');
  }
}
