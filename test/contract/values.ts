import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectRefusal } from '../support/http/refusal.js';
import {
  type ContractTarget,
  expectCreated,
  expectNothingWritten,
  removePlants,
  storedPlants,
} from './contract-target.js';

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
const MILLION = 1_000_000;

/** How an id is written, and the integer that it is. */
const INTEGERS: [written: string, id: string][] = [
  ['0', '0'],
  ['-0', '0'],
  ['1', '1'],
  ['-1', '-1'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  [MAX, MAX],
  [MIN, MIN],
  ['5.0', '5'],
  ['5e0', '5'],
  ['5E+0', '5'],
  ['50e-1', '5'],
  ['0.5e1', '5'],
  ['0.05e0002', '5'],
  [`${MAX}.000`, MAX],
  ['922337203685477580.7e1', MAX],
  [`${MIN}000e-3`, MIN],
  ['9.007199254740993e15', '9007199254740993'],
  ['1e18', '1000000000000000000'],
  ['0e999999999', '0'],
  ['-0.0e-999999999', '0'],
];

const LONG_INTEGERS: [what: string, written: string, id: string][] = [
  ['zero with an exponent of a thousand digits', `0e${'9'.repeat(1000)}`, '0'],
  ['a million zeros behind the point', `7.${'0'.repeat(MILLION)}`, '7'],
  ['a million zeros taken back by the exponent', `7${'0'.repeat(MILLION)}e-${MILLION}`, '7'],
  ['a million zeros before the first digit', `0.${'0'.repeat(MILLION - 1)}7e${MILLION}`, '7'],
];

const OTHER_VALUES: [what: string, written: string][] = [
  ['one beyond the upper end', '9223372036854775808'],
  ['one beyond the lower end', '-9223372036854775809'],
  ['a fraction beyond the upper end', `${MAX}.5`],
  ['2^64', '18446744073709551616'],
  ['1.5', '1.5'],
  ['-0.1', '-0.1'],
  ['5e-1', '5e-1'],
  ['what rounds to an integer', '1.00000000000000000001'],
  ['1e19', '1e19'],
  ['1e400', '1e400'],
  ['-1e400', '-1e400'],
  ['1e999999999', '1e999999999'],
  ['-1e999999999', '-1e999999999'],
  ['1e-999999999', '1e-999999999'],
  ['an exponent of a thousand digits', `1e${'9'.repeat(1000)}`],
  ['a negative exponent of a thousand digits', `1e-${'9'.repeat(1000)}`],
  ['a million digits', '9'.repeat(MILLION)],
  ['a million zeros behind a one', `1${'0'.repeat(MILLION)}`],
  ['a tiny fraction, written out', `0.${'0'.repeat(MILLION)}1`],
  ['a tiny fraction behind an integer', `5.${'0'.repeat(MILLION)}1`],
  ['a string of digits', '"5"'],
  ['an empty string', '""'],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
  ['an array', '[5]'],
  ['an empty array', '[]'],
  ['an object', '{}'],
];

const [LOWEST, HIGHEST] = [-(2n ** 63n), 2n ** 63n - 1n];
/** Where a float, an int32 or an int64 would break. */
const edges = fc.constantFrom(LOWEST, HIGHEST, 0n, 2n ** 31n, -(2n ** 31n), 2n ** 53n, -(2n ** 53n), 2n ** 62n);
const ids = fc.oneof(
  fc.bigInt({ min: LOWEST, max: HIGHEST }),
  fc
    .tuple(edges, fc.bigInt({ min: -2000n, max: 2000n }))
    .map(([edge, offset]) => edge + offset)
    .filter((id) => id >= LOWEST && id <= HIGHEST),
);
const suffixes = fc.constantFrom('', '.0', 'e0', '.000e+0');

export function describeIdentifiers(target: () => ContractTarget): void {
  describe('the id', () => {
    async function expectStored(written: string, id: string): Promise<void> {
      expectCreated(await target().post(`{"id": ${written}, "name": "Rose"}`), { name: 'Rose' });
      expect(await storedPlants(target())).toEqual([{ id, name: 'Rose', tag: null, idempotency_key: null }]);
    }

    it.each(INTEGERS)('should be taken exactly: %s', expectStored);
    it.each(LONG_INTEGERS)('should be taken exactly: %s', (_, written, id) => expectStored(written, id));

    it('should be the same one, however it is written', async () => {
      await target().post('{"id": 5, "name": "Rose"}');
      for (const written of ['5.0', '5e0', '50e-1']) {
        expectRefusal(await target().post(`{"id": ${written}, "name": "Fern"}`), 40901, target().errorStatus);
      }
      expect(await storedPlants(target())).toMatchObject([{ id: '5', name: 'Rose' }]);
    });

    it('should reach the disk exactly as it was sent, over all of int64', async () => {
      const property = fc.asyncProperty(fc.uniqueArray(ids, { minLength: 20 }), suffixes, async (sent, suffix) => {
        await removePlants(target());
        const creates = sent.map((id) => target().post(`{"id": ${id}${suffix}, "name": "${id}"}`));
        for (const { status } of await Promise.all(creates)) expect(status).toBe(200);
        const stored = (await storedPlants(target())).map(({ id, name }) => [id, name]);
        expect(new Set(stored.map(String))).toEqual(new Set(sent.map((id) => `${id},${id}`)));
      });
      await fc.assert(property, { numRuns: 10 });
    });

    it.each(OTHER_VALUES)('should not be %s', async (_, written) => {
      const response = await target().post(`{"id": ${written}, "name": "Rose"}`);
      const message = await expectNothingWritten(target(), response, 40003);
      expect(message).toMatch(new RegExp(`\\bid\\b.* integer from ${MIN} to ${MAX}`));
      expect(message).not.toMatch(/\b(?:name|tag)\b/);
      expect(message.length).toBeLessThan(300);
    });
  });
}

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
  describe.each(['name', 'tag'])('the %s', (field) => {
    /** A plant with this text in the field, as JSON. */
    const plant = (written: string): string =>
      `{"id": 1, ${field === 'tag' ? '"name": "Rose", ' : ''}"${field}": ${written}}`;

    it.each(TEXTS)('should be stored and answered as it was sent: %s', async (_, written, text) => {
      const texts = { name: 'Rose', [field]: text };
      expectCreated(await target().post(plant(written)), texts);
      expect(await storedPlants(target())).toEqual([{ id: '1', tag: null, ...texts, idempotency_key: null }]);
    });

    it.each(UNSTORABLE)('should not be %s', async (_, written, fault) => {
      const message = await expectNothingWritten(target(), await target().post(plant(written)), 40003);
      expect(message).toMatch(new RegExp(`\\b${field}\\b.*${fault.source}`));
      for (const other of ['id', 'name', 'tag'].filter((name) => name !== field))
        expect(message).not.toMatch(new RegExp(`\\b${other}\\b`));
    });
  });

  it('should leave the tag out of the answer if it was left out of the request', async () => {
    expect(JSON.parse((await target().post('{"id": 1, "name": "Rose"}')).body)).toStrictEqual({ name: 'Rose' });
  });
}
