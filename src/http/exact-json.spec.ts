import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse as parseLossless } from 'lossless-json';
import { JsonNumber, JsonStructure, JsonSyntaxError, parseExactJson } from './exact-json.js';

describe(parseExactJson.name, () => {
  it('should keep numbers as they were written', () => {
    const text = '{"id": 9007199254740993, "e": -1.50e+99999, "z": -0}';
    expect(parseExactJson(text)).toEqual({
      id: new JsonNumber('9007199254740993'),
      e: new JsonNumber('-1.50e+99999'),
      z: new JsonNumber('-0'),
    });
  });

  it('should read strings as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseExactJson(JSON.stringify({ text }))).toEqual({ text });
      }),
    );
  });

  it('should tell what it does not keep from what it keeps', () => {
    const text =
      ' {"a": [], "b": {}, "c": [{"x": [1]}, 2], "d": {"e": {"f": null}}, "g": true, "h": false, "i": null} ';
    const [array, object] = [new JsonStructure('array'), new JsonStructure('object')];
    expect(parseExactJson(text)).toEqual({ a: array, b: object, c: array, d: object, g: true, h: false, i: null });
  });

  it.each([
    ['5', new JsonNumber('5')],
    ['"text"', 'text'],
    ['null', null],
    ['[{"a": 1}]', new JsonStructure('array')],
  ])('should return %s as it is', (text, value) => {
    expect(parseExactJson(text)).toEqual(value);
  });

  it('should tell a key of digits from the same with a quotation mark', () => {
    expect(parseExactJson('{"5": 1, "\\"5": 2, "": 3}')).toEqual({
      5: new JsonNumber('1'),
      '"5': new JsonNumber('2'),
      '': new JsonNumber('3'),
    });
    expect(() => parseExactJson('{"5": 1, "6": 2, "\\u0035": 3}')).toThrow('the key "5" is repeated');
  });

  it('should treat no key as special', () => {
    const parsed = parseExactJson('{"__proto__": 1, "constructor": 2, "toString": 3}');
    expect(Object.keys(parsed as object)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  });

  it.each([
    ['{"a": 1, "a": 2}', 9],
    ['{"a": 1, "a": 1}', 9],
    ['{"a": 1, "\\u0061": 1}', 9],
    ['{"x": [{"b": 1, "c": 2, "d": 3, "c": 4}]}', 32],
    ['{"__proto__": 1, "__proto__": 1}', 17],
  ])('should refuse the repeated key in %s', (text, position) => {
    expect(() => parseExactJson(text)).toThrow(
      expect.objectContaining({ position, message: expect.stringMatching(/is repeated/) }),
    );
  });

  it('should accept one key in several objects', () => {
    expect(() => parseExactJson('[{"a": {"a": [{"a": 1}, {"a": 1}]}}, {"a": 1}]')).not.toThrow();
  });

  it.each([
    ['', 0],
    ['{', 1],
    ['{"a"', 4],
    ['{"a":', 5],
    ['{"a": 1', 7],
    ['{"a": 1,}', 8],
    ['{a: 1}', 1],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['[1}', 2],
    ['{"a": 01}', 7],
    ['{"a": "b', 6],
    ['{"a": "\\', 6],
    ['{"a": "\\x"}', 6],
    ['{"a": "\n"}', 7],
    ['{"a": 1} x', 9],
    ['\uFEFF{}', 0],
    ['{"a": nul}', 6],
  ])('should say where %j breaks off being JSON', (text, position) => {
    expect(() => parseExactJson(text)).toThrow(expect.objectContaining({ position, name: JsonSyntaxError.name }));
  });

  it('should survive any depth', () => {
    const deep = '['.repeat(500_000) + ']'.repeat(500_000);
    expect(parseExactJson(`{"a": ${deep}}`)).toEqual({ a: new JsonStructure('array') });
    expect(() => parseExactJson('{"a":'.repeat(200_000))).toThrow(JsonSyntaxError);
  });

  it('should accept what JSON.parse accepts, and nothing else', () => {
    const alphabet = fc.constantFrom(
      ...'{}[]",:\\/ \t\n0123456789-+.eEtrufalsn\u0000x'.split(''),
      '"a"',
      'true',
      '\\u00e9',
    );
    const almostJson = fc
      .tuple(fc.json(), fc.nat(), fc.nat(3), fc.string({ unit: alphabet, maxLength: 3 }))
      .map(
        ([json, at, cut, insert]) =>
          json.slice(0, at % (json.length + 1)) + insert + json.slice((at % (json.length + 1)) + cut),
      );
    fc.assert(
      fc.property(fc.oneof(fc.json(), almostJson, fc.string({ unit: alphabet })), (text) => {
        fc.pre(!repeatsKey(text));
        expect(verdict(() => parseExactJson(text))).toBe(verdict(() => JSON.parse(text)));
      }),
      { numRuns: 5000 },
    );
  });

  it('should agree with lossless-json on the numbers of an object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.double({ noDefaultInfinity: true, noNaN: true })), (numbers) => {
        const text = JSON.stringify(numbers);
        const sources = Object.entries(parseExactJson(text) as Record<string, JsonNumber>).map(([k, n]) => [
          k,
          n.source,
        ]);
        const lossless = Object.entries(parseLossless(text) as Record<string, { value: string }>).map(([k, n]) => [
          k,
          n.value,
        ]);
        expect(sources).toEqual(lossless);
      }),
    );
  });
});

function verdict(parse: () => unknown): 'accepted' | 'refused' {
  try {
    parse();
    return 'accepted';
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof JsonSyntaxError)) throw error;
    return 'refused';
  }
}

/** JSON.parse takes the last one of equal keys: the one thing in which the two differ on purpose. */
function repeatsKey(text: string): boolean {
  try {
    parseExactJson(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.includes('is repeated');
  }
}
