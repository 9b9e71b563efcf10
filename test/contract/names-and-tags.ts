import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

/** A string as JSON writes it, and the text that it is. */
const TEXTS: [what: string, written: string, text: string][] = [
  ['the empty string', '""', ''],
  ['blanks around it', '"  Rose\t "'.replace('\t', '\\t'), '  Rose\t '],
  ['nothing but a blank', '" "', ' '],
  ['line breaks', '"a\\r\\nb\\u2028c\\u0085"', 'a\r\nb\u2028c\u0085'],
  ['decomposed Unicode', '"e\u0301"', 'e\u0301'],
  ['composed Unicode', '"\u00e9"', '\u00e9'],
  ['a character that normalisation replaces', '"\u212b\ufb01"', '\u212b\ufb01'],
  ['an emoji', '"🌹"', '🌹'],
  ['an emoji as escapes', '"\\ud83c\\udf39"', '🌹'],
  ['an emoji as upper-case escapes', '"\\uD83C\\uDF39"', '🌹'],
  ['joined emoji', '"👩🏽‍🌾"', '👩🏽‍🌾'],
  ['right-to-left text', '"\u202eورد"', '\u202eورد'],
  ['noncharacters', '"\uffff\ufffe\u{10ffff}"', '\uffff\ufffe\u{10ffff}'],
  ['the replacement character', '"\ufffd"', '\ufffd'],
  ['a byte order mark', '"\ufeffRose"', '\ufeffRose'],
  ['control characters as escapes', '"\\u0001\\u001f\\b\\f"', '\u0001\u001f\b\f'],
  ['a delete character', '"\u007f"', '\u007f'],
  ['quotes and slashes', '"\\"\\\\\\/\'"', '"\\/\''],
  ['what looks like SQL', '"\'); DROP TABLE plants; --"', "'); DROP TABLE plants; --"],
  ['what looks like markup', '"<b>&amp;</b>"', '<b>&amp;</b>'],
  ['what looks like a number', '"5"', '5'],
  ['what looks like null', '"null"', 'null'],
  ['a name from the prototype', '"__proto__"', '__proto__'],
  ['half a megabyte', `"${'ä'.repeat(250_000)}"`, 'ä'.repeat(250_000)],
];

const UNSTORABLE: [what: string, written: string, fault: RegExp][] = [
  ['U+0000', '"\\u0000"', /U\+0000.*PostgreSQL/],
  ['U+0000 in the midst', '"Ro\\u0000se"', /U\+0000.*PostgreSQL/],
  ['a lone high surrogate', '"\\ud800"', /surrogate.*PostgreSQL/],
  ['a lone low surrogate', '"a\\udfff"', /surrogate.*PostgreSQL/],
  ['surrogates in the wrong order', '"\\udf39\\ud83c"', /surrogate.*PostgreSQL/],
  ['a surrogate before a pair', '"\\ud83c\\ud83c\\udf39"', /surrogate.*PostgreSQL/],
  ['null', 'null', /null.*string/],
  ['a number', '5', /number 5\b.*string/],
  ['a number beyond every float', '1e999', /(?:the number 1e999\b|a number;).*string/],
  ['true', 'true', /true.*string/],
  ['false', 'false', /false.*string/],
  ['an array', '["Rose"]', /array.*string/],
  ['an object', '{"text": "Rose"}', /object.*string/],
];

export function describeNamesAndTags(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe('the name', () => {
    it.each(TEXTS)('should be stored and answered as it was sent: %s', async (_, written, text) => {
      expectCreated(await target().post(`{"id": 1, "name": ${written}}`), { name: text });
      expect(await storedPlants(target())).toEqual([{ id: '1', name: text, tag: null, idempotency_key: null }]);
    });

    it.each(UNSTORABLE)('should not be %s', async (_, written, fault) => {
      const response = await target().post(`{"id": 1, "name": ${written}}`);
      const message = await expectNothingWritten(target(), response, 40003);
      expect(message).toMatch(new RegExp(`\\bname\\b.*${fault.source}`));
      expect(message).not.toMatch(/\b(?:id|tag)\b/);
    });
  });

  describe('the tag', () => {
    it.each(TEXTS)('should be stored and answered as it was sent: %s', async (_, written, text) => {
      expectCreated(await target().post(`{"id": 1, "name": "Rose", "tag": ${written}}`), { name: 'Rose', tag: text });
      expect(await storedPlants(target())).toEqual([{ id: '1', name: 'Rose', tag: text, idempotency_key: null }]);
    });

    it.each(UNSTORABLE)('should not be %s', async (_, written, fault) => {
      const response = await target().post(`{"id": 1, "name": "Rose", "tag": ${written}}`);
      const message = await expectNothingWritten(target(), response, 40003);
      expect(message).toMatch(new RegExp(`\\btag\\b.*${fault.source}`));
      expect(message).not.toMatch(/\b(?:id|name)\b/);
    });

    it('should be absent from the answer if it was absent from the request', async () => {
      const { body } = await target().post('{"id": 1, "name": "Rose"}');
      expect(JSON.parse(body)).toStrictEqual({ name: 'Rose' });
    });
  });
}
