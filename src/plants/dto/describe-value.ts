import { JsonNumber, JsonStructure, type JsonValue } from '../../http/json-value.js';

/** What a client sent in place of a field, in words. */
export function describeValue(value: JsonValue | undefined): string {
  if (value === undefined) return 'is missing';
  if (value instanceof JsonNumber) return value.isExact ? `is the number ${shorten(value.source)}` : 'is a number';
  if (value instanceof JsonStructure) return `is an ${value.kind}`;
  if (typeof value === 'string') return 'is a string';
  return `is ${value}`;
}

function shorten(source: string): string {
  return source.length > 40 ? `${source.slice(0, 40)}…` : source;
}
