import { describe, expect, it } from '@jest/globals';
import { type ContractTarget, expectCreated, expectNothingWritten, storedPlants } from './contract-target.js';

const FIELDS = ['id', 'name', 'tag'];

/** Bodies, and what the message says of each field that is missing or wrong. */
const FAULTY: [body: string, faults: Record<string, string>][] = [
  ['{}', { id: 'missing', name: 'missing' }],
  ['{"id": 1}', { name: 'missing' }],
  ['{"name": "Rose"}', { id: 'missing' }],
  ['{"tag": "flower"}', { id: 'missing', name: 'missing' }],
  ['{"tag": null}', { id: 'missing', name: 'missing', tag: 'null' }],
  ['{"id": "x", "name": 1, "tag": []}', { id: 'string', name: 'number 1', tag: 'array' }],
  ['{"id": null, "name": null, "tag": null}', { id: 'null', name: 'null', tag: 'null' }],
  ['{"id": 1.5, "name": "\\u0000"}', { id: 'number 1\\.5', name: 'U\\+0000' }],
  ['{"ID": 1, "Name": "Rose"}', { id: 'missing', name: 'missing' }],
  ['{" id": 1, "name ": "Rose"}', { id: 'missing', name: 'missing' }],
  ['{"plant": {"id": 1, "name": "Rose"}}', { id: 'missing', name: 'missing' }],
  ['{"__proto__": {"id": 1, "name": "Rose"}}', { id: 'missing', name: 'missing' }],
  ['{"constructor": {"name": "Rose"}, "id": 1}', { name: 'missing' }],
  ['{"id": 1, "toString": "Rose"}', { name: 'missing' }],
];

const DEPTH = 50_000;
const deepArray = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
const deepObject = '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH);

const IGNORED: [what: string, members: string][] = [
  ['scalars', '"size": 1e400, "alive": true, "notes": null, "colour": "red"'],
  ['text that cannot be stored', '"notes": "\\u0000\\ud800"'],
  ['numbers out of every range', '"size": 1e999999999, "weight": -0.1e-999999999'],
  ['containers', '"pots": [{}, [], {"id": 2}], "owner": {"id": 3, "name": "Eve", "tag": "x"}'],
  ['keys in other letters', '"Id": 2, "NAME": "Fern", "Tag": "x", "tag ": "x"'],
  ['names of columns', '"idempotencyKey": "x", "idempotency_key": "x", "created_at": 1, "createdAt": 1'],
  ['an empty key', '"": "x"'],
  ['__proto__', '"__proto__": {"id": 2, "name": "Fern", "tag": "x"}'],
  ['__proto__ that is null', '"__proto__": null'],
  ['__proto__ as escapes', '"\\u005f_proto__": {"tag": "x"}'],
  ['constructor', '"constructor": {"prototype": {"tag": "x"}}'],
  ['toString', '"toString": null'],
  ['hasOwnProperty', '"hasOwnProperty": 1'],
  ['then', '"then": "x"'],
  ['a token', '"access_token": ["x"]'],
  ['50,000 arrays in each other', `"deep": ${deepArray}`],
  ['50,000 objects in each other', `"deep": ${deepObject}`],
  ['10,000 fields', Array.from({ length: 10_000 }, (_, i) => `"field${i}": ${i}`).join()],
];

/** @param isRead whether these members reach the store at all */
export function describeFields(target: () => ContractTarget, isRead: (members: string) => boolean = () => true): void {
  describe('missing and wrong fields', () => {
    it.each(FAULTY.filter(([body]) => isRead(body)))('should all be named in one message: %s', async (body, faults) => {
      const message = await expectNothingWritten(target(), await target().post(body), 40003);
      for (const [field, fault] of Object.entries(faults)) {
        expect(message).toMatch(new RegExp(`\\b${field} (?:is|contains) (?:\\S+ )?${fault}\\b`));
      }
      for (const field of FIELDS.filter((name) => !(name in faults))) {
        expect(message).not.toMatch(new RegExp(`\\b${field}\\b`));
      }
    });
  });

  describe('fields that a new plant does not have', () => {
    const ignored = IGNORED.filter(([, members]) => isRead(members));

    it.each(ignored)('should be ignored before the others: %s', async (_, members) => {
      expectCreated(await target().post(`{${members}, "id": 1, "name": "Rose"}`), { name: 'Rose' });
      expect(await storedPlants(target())).toEqual([{ id: '1', name: 'Rose', tag: null, idempotency_key: null }]);
    });

    it.each(ignored)('should be ignored behind the others: %s', async (_, members) => {
      const texts = { name: 'Rose', tag: 'flower' };
      expectCreated(await target().post(`{"id": 1, "name": "Rose", "tag": "flower", ${members}}`), texts);
      expect(await storedPlants(target())).toEqual([{ id: '1', ...texts, idempotency_key: null }]);
    });
  });
}

const NOT_AN_OBJECT: [what: string, body: string][] = [
  ['a number', '5'],
  ['a string', '"Rose"'],
  ['true', 'true'],
  ['null', 'null'],
  ['an empty array', '[]'],
  ['an array of a plant', '[{"id": 1, "name": "Rose"}]'],
  ['50,000 arrays in each other', '['.repeat(DEPTH) + ']'.repeat(DEPTH)],
];

const NOT_JSON: [what: string, body: string][] = [
  ['white space alone', ' \t\r\n'],
  ['text', 'Rose'],
  ['a form', 'id=1&name=Rose'],
  ['an open object', '{"id": 1, "name": "Rose"'],
  ['an open string', '{"id": 1, "name": "Rose}'],
  ['a lone brace', '{'],
  ['50,000 open arrays', '['.repeat(DEPTH)],
  ['50,000 open objects', '{"a":'.repeat(DEPTH)],
  ['brackets that do not match', '{"id": 1, "name": "Rose", "tags": [}]'],
  ['a comma behind the last member', '{"id": 1, "name": "Rose",}'],
  ['a comma behind the last element', '{"id": 1, "name": "Rose", "tags": [1,]}'],
  ['a comma before the first member', '{,"id": 1, "name": "Rose"}'],
  ['a missing comma', '{"id": 1 "name": "Rose"}'],
  ['a missing colon', '{"id" 1, "name": "Rose"}'],
  ['a missing value', '{"id": , "name": "Rose"}'],
  ['a key without quotes', '{id: 1, "name": "Rose"}'],
  ['single quotes', "{'id': 1, 'name': 'Rose'}"],
  ['a line comment', '{"id": 1, // one\n"name": "Rose"}'],
  ['a block comment', '{"id": 1, /* one */ "name": "Rose"}'],
  ['a second object', '{"id": 1, "name": "Rose"}{"id": 2, "name": "Fern"}'],
  ['a second line', '{"id": 1, "name": "Rose"}\n{"id": 2, "name": "Fern"}'],
  ['text behind the object', '{"id": 1, "name": "Rose"}x'],
  ['U+0000 behind the object', '{"id": 1, "name": "Rose"}\0'],
  ['a control character in a string', '{"id": 1, "name": "Ro\u0001se"}'],
  ['U+0000 in a string', '{"id": 1, "name": "Ro\0se"}'],
  ['a line break in a string', '{"id": 1, "name": "Ro\nse"}'],
  ['a tab in a string', '{"id": 1, "name": "Ro\tse"}'],
  ['white space that JSON does not know', '{"id": 1,\u00a0"name": "Rose"}'],
  ['a form feed', '{"id": 1,\f"name": "Rose"}'],
  ['an unknown escape', '{"id": 1, "name": "\\x41"}'],
  ['an escaped single quote', '{"id": 1, "name": "\\\'"}'],
  ['a short escape', '{"id": 1, "name": "\\u12"}'],
  ['an escape of no hexadecimal digits', '{"id": 1, "name": "\\u00zz"}'],
  ...['NaN', 'Infinity', '-Infinity', 'undefined', 'nul', 'True', 'TRUE', 'nulll'].map(written),
  ...['01', '-01', '00', '+1', '.5', '1.', '1.e5', '1e', '1e+', '-', '--1', '0x10'].map(written),
  ...['1_000', '1n', '1,5', '１'].map(written),
];

const ROSE = '"id": 1, "name": "Rose"';
const REPEATED: [what: string, body: string, key: string][] = [
  ['with another value', `{${ROSE}, "id": 2}`, 'id'],
  ['with the same value', `{${ROSE}, "id": 1}`, 'id'],
  ['with the same value, written otherwise', `{${ROSE}, "id": 1.0}`, 'id'],
  ['with the same text', `{${ROSE}, "name": "Rose"}`, 'name'],
  ['with null', `{"tag": null, ${ROSE}, "tag": "flower"}`, 'tag'],
  ['as an escape', `{${ROSE}, "\\u0069d": 1}`, 'id'],
  ['that is ignored', `{${ROSE}, "size": 1, "size": 1}`, 'size'],
  ['that is empty', `{${ROSE}, "": 1, "": 1}`, ''],
  ['called __proto__', `{${ROSE}, "__proto__": 1, "__proto__": 1}`, '__proto__'],
  ['called toString', `{${ROSE}, "toString": 1, "toString": 1}`, 'toString'],
  ['inside an ignored field', `{${ROSE}, "pot": {"size": 1, "size": 1}}`, 'size'],
  ['deep inside an ignored field', `{${ROSE}, "pots": [[{"a": {"b": 1, "c": 2, "b": 3}}]]}`, 'b'],
  ['inside an array at the top', `[{"id": 1, "id": 1}]`, 'id'],
];

function written(number: string): [string, string] {
  return [number, `{"id": ${number}, "name": "Rose"}`];
}

/** @param isRead whether these bodies reach the store at all */
export function describeRepeatedKeys(
  target: () => ContractTarget,
  isRead: (body: string) => boolean = () => true,
): void {
  describe('a JSON body', () => {
    it.each(REPEATED.filter(([, body]) => isRead(body)))('should not repeat a key %s', async (_, body, key) => {
      const message = await expectNothingWritten(target(), await target().post(body), 40002);
      expect(message).toContain(`the key "${key}" is repeated`);
    });
  });
}

export function describeBodyJson(target: () => ContractTarget): void {
  describeRepeatedKeys(target);

  describe('a JSON body', () => {
    it.each([
      ['around everything', '\r\n\t {\r\n\t "id" : 1 , "name"\n:\t"Rose"\r}\n\n'],
      ['nowhere', '{"id":1,"name":"Rose"}'],
    ])('should be read with white space %s', async (_, body) => {
      expectCreated(await target().post(body), { name: 'Rose' });
    });

    it('should be read with keys as escapes', async () => {
      expectCreated(await target().post('{"\\u0069\\u0064": 1, "n\\u0061me": "Rose"}'), { name: 'Rose' });
    });

    it.each(NOT_AN_OBJECT)('should be an object, not %s', async (_, body) => {
      const message = await expectNothingWritten(target(), await target().post(body), 40001);
      expect(message).toMatch(/not an object.*\{"id": 1, "name": "Rose"\}/);
    });

    it.each(NOT_JSON)('should be JSON, not hold %s', async (_, body) => {
      const message = await expectNothingWritten(target(), await target().post(body), 40002);
      expect(message).toMatch(/not JSON: .* line \d+, column \d+/);
      expect(message.length).toBeLessThan(300);
    });

    it('should be refused with the place of the fault', async () => {
      const response = await target().post('{"id": 1,\n "näme": Rose}');
      expect(await expectNothingWritten(target(), response, 40002)).toContain('line 2, column 10');
    });
  });
}
