/** A JSON number as it was written: no float ever holds it, so nothing is rounded. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

/** An object or array inside the document: its syntax was checked, its content is not kept. */
export class JsonStructure {
  constructor(readonly kind: 'object' | 'array') {}
}

export type JsonValue = string | boolean | null | JsonNumber | JsonStructure;
export type JsonObject = Record<string, JsonValue>;
