import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonNumber, JsonStructure, JsonSyntaxError, parseExactJson } from './exact-json.js';

const alphabet = fc.constantFrom(
  ...'{}[]",:\\/ \t\n0123456789-+.eEtrufalsn\u0000x'.split(''),
  ...['"a"', 'true', '\\u00e9', '\uFEFF'],
);
const almostJson = fc
  .tuple(fc.json(), fc.nat(), fc.nat(3), fc.string({ unit: alphabet, maxLength: 3 }))
  .map(([json, place, cut, insert]) => {
    const at = place % (json.length + 1);
    return json.slice(0, at) + insert + json.slice(at + cut);
  });
const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()).map((value) => JSON.stringify(value));
const texts = fc.oneof(objects, fc.json(), almostJson, fc.string({ unit: alphabet }));

/** What came of it, or the class of the error. */
function outcomeOf(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Error && error.message.includes('is repeated')) return 'repeats a key';
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return 'is no JSON';
    throw error;
  }
}

/** A member as JSON.parse has it, in the form in which it is kept. */
function kept(value: unknown): unknown {
  if (Array.isArray(value)) return new JsonStructure('array');
  return typeof value === 'object' && value !== null ? new JsonStructure('object') : value;
}

describe(parseExactJson.name, () => {
  it('should accept what JSON.parse accepts, with the same members, and refuse the rest', () => {
    let accepted = 0;
    const property = fc.property(texts, (text) => {
      const parsed = outcomeOf(() => JSON.parse(text) as unknown);
      // Nobody asks for the one that an assignment would not keep.
      const names = Object.keys(Object(parsed) as object).filter((name) => name !== '__proto__');
      const found = outcomeOf(() => parseExactJson(text, names));
      // JSON.parse takes the last one of equal keys: the one thing in which the two differ on purpose.
      if (parsed === 'is no JSON' || found === 'repeats a key') {
        expect(['is no JSON', 'repeats a key']).toContain(found);
        return;
      }
      accepted += 1;
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      const members = names.map((name) => [name, kept((parsed as Record<string, unknown>)[name])]);
      const rounded = Object.entries(Object(found) as object).map(([name, value]: [string, unknown]) => [
        name,
        value instanceof JsonNumber ? Number(value.source) : value,
      ]);
      if (isObject) expect(Object.fromEntries(rounded)).toEqual(Object.fromEntries(members));
      else expect(found).toBeUndefined();
    });
    fc.assert(property, { numRuns: 2000 });
    expect(accepted).toBeGreaterThan(400);
  });

  it('should keep numbers as they were written', () => {
    const numbers = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,20})?([eE][+-]?\d{1,9})?$/);
    const property = fc.property(numbers, (number) => {
      expect(parseExactJson(`{"n": ${number}}`, ['n'])).toEqual({ n: new JsonNumber(number) });
    });
    fc.assert(property);
  });

  it('should refuse a key that is repeated, at any depth and however it is written', () => {
    const keys = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('__proto__', 'toString', '', '5', '"5', 'x5'),
      fc.nat(20).map(String),
    );
    const places = fc.constantFrom('$', '[$]', '{"x": $}', '[[{"a": 1, "b": [{}, $]}]]', '[{"a": 1}, {"a": $}]');
    const property = fc.property(fc.uniqueArray(keys, { minLength: 1 }), fc.nat(), places, (unique, at, place) => {
      const again = (unique[at % unique.length] ?? '').replace(/[^]/g, (unit) =>
        at % 2 ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : JSON.stringify(unit).slice(1, -1),
      );
      const members = unique.map((key) => `${JSON.stringify(key)}: 1`).join();
      const within = (object: string): string => place.replace('$', () => object);
      expect(outcomeOf(() => parseExactJson(within(`{${members}}`), []))).not.toBe('repeats a key');
      expect(outcomeOf(() => parseExactJson(within(`{${members}, "${again}": 1}`), []))).toBe('repeats a key');
    });
    fc.assert(property, { numRuns: 300 });
  });
});
