import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type ContractTarget,
  itShouldRefuse,
  itShouldAccept,
  type Refused,
  removePlants,
  storedPlants,
  type Accepted,
} from './contract-target.js';

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
const MILLION = 1_000_000;

const withId = (id: string): string => `{"id": ${id}, "name": "Rose"}`;

/** How an id is written, and the integer that it is. */
const INTEGERS: [written: string, id: string][] = [
  ['-0', '0'],
  ['9007199254740993', '9007199254740993'],
  [MAX, MAX],
  [MIN, MIN],
  ['5.0', '5'],
  ['5E+0', '5'],
  ['50e-1', '5'],
  ['0.05e0002', '5'],
  [`${MAX}.000`, MAX],
  ['922337203685477580.7e1', MAX],
  [`${MIN}000e-3`, MIN],
  ['0e999999999', '0'],
  [`7.${'0'.repeat(MILLION)}`, '7'],
  [`7${'0'.repeat(MILLION)}e-${MILLION}`, '7'],
];

const OTHER_VALUES = [
  ...['9223372036854775808', '-9223372036854775809', `${MAX}.5`, '18446744073709551616', '1e19'],
  ...['1.5', '5e-1', '1.00000000000000000001', '1e400', '1e999999999', '-1e999999999', '1e-999999999'],
  ...[`1e${'9'.repeat(1000)}`, '9'.repeat(MILLION), `1${'0'.repeat(MILLION)}`, `5.${'0'.repeat(MILLION)}1`],
  ...['"5"', '""', 'true', 'false', 'null', '[5]', '{}'],
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
const SUFFIXES = ['', '.0', 'e0', '.000e+0'];

export function describeIdentifiers(target: () => ContractTarget): void {
  describe('the id', () => {
    const integers = INTEGERS.map(([id, exact]): Accepted => [id.slice(0, 40), withId(id), { name: 'Rose' }, exact]);
    itShouldAccept(target, integers);

    it('should reach the disk exactly as it was sent, over all of int64', async () => {
      const property = fc.asyncProperty(fc.uniqueArray(ids, { minLength: 100, maxLength: 150 }), async (sent) => {
        await removePlants(target());
        const creates = sent.map((id, at) =>
          target().post(`{"id": ${id}${SUFFIXES[at % SUFFIXES.length] ?? ''}, "name": "${id}"}`),
        );
        for (const { status } of await Promise.all(creates)) expect(status).toBe(200);
        const stored = (await storedPlants(target())).map(({ id, name }) => [id, name]);
        expect(new Set(stored.map(String))).toEqual(new Set(sent.map((id) => `${id},${id}`)));
      });
      await fc.assert(property, { numRuns: 3 });
    });

    const fault = new RegExp(`: id is .* integer from ${MIN} to ${MAX}\\.$`);
    const others = OTHER_VALUES.map((id): Refused => [id.slice(0, 40), withId(id), {}, fault]);
    itShouldRefuse(target, 40003, others);
  });
}

/** A string as JSON writes it, and the text that it is. */
const TEXTS: [what: string, written: string, text: string][] = [
  ['the empty string', '""', ''],
  ['blanks around it', '"  Rose\\t "', '  Rose\t '],
  ['line breaks', '"a\\r\\nb\\u2028c\\u0085"', 'a\r\nb\u2028c\u0085'],
  ['decomposed Unicode', '"e\u0301"', 'e\u0301'],
  ['characters that normalisation replaces', '"\u212b\ufb01"', '\u212b\ufb01'],
  ['an emoji', '"🌹"', '🌹'],
  ['an emoji as escapes', '"\\ud83c\\uDF39"', '🌹'],
  ['noncharacters', '"\uffff\ufffe\u{10ffff}"', '\uffff\ufffe\u{10ffff}'],
  ['the replacement character and a byte order mark', '"\ufffd\ufeffRose"', '\ufffd\ufeffRose'],
  ['control characters as escapes', '"\\u0001\\u001f\\b\\f\u007f"', '\u0001\u001f\b\f\u007f'],
  ['quotes and slashes', '"\\"\\\\\\/\'"', '"\\/\''],
  ['what looks like SQL', '"\'); DROP TABLE plants; --"', "'); DROP TABLE plants; --"],
  ['what looks like markup', '"<b>&amp;</b>"', '<b>&amp;</b>'],
  ['what looks like a number', '"5"', '5'],
  ['a name from the prototype', '"__proto__"', '__proto__'],
  ['half a megabyte', `"${'ä'.repeat(250_000)}"`, 'ä'.repeat(250_000)],
];

const UNSTORABLE: [what: string, written: string, fault: RegExp][] = [
  ['U+0000', '"\\u0000"', /contains U\+0000.*PostgreSQL/],
  ['U+0000 in the midst', '"Ro\\u0000se"', /contains U\+0000.*PostgreSQL/],
  ['a lone high surrogate', '"\\ud800"', /surrogate.*PostgreSQL/],
  ['a lone low surrogate', '"a\\udfff"', /surrogate.*PostgreSQL/],
  ['surrogates in the wrong order', '"\\udf39\\ud83c"', /surrogate.*PostgreSQL/],
  ['null', 'null', /null.*string/],
  ['a number', '5', /number 5\b.*string/],
  ['a number beyond every float', '1e999', /number 1e999\b.*string/],
  ['true', 'true', /true.*string/],
  ['an array', '["Rose"]', /array.*string/],
  ['an object', '{"text": "Rose"}', /object.*string/],
];

export function describeNamesAndTags(target: () => ContractTarget): void {
  describe.each(['name', 'tag'])('the %s', (field) => {
    /** A plant with this text in the field, as JSON. */
    const plant = (written: string): string =>
      `{"id": 1, ${field === 'tag' ? '"name": "Rose", ' : ''}"${field}": ${written}}`;

    itShouldAccept(
      target,
      TEXTS.map(([what, written, text]): Accepted => [what, plant(written), { name: 'Rose', [field]: text }]),
    );
    // This field and no other.
    const faultOf = (fault: RegExp): RegExp => new RegExp(`: ${field} (?:(?!\\b(?:id|name|tag)\\b).)*${fault.source}`);
    itShouldRefuse(
      target,
      40003,
      UNSTORABLE.map(([what, written, fault]): Refused => [what, plant(written), {}, faultOf(fault)]),
    );
  });
}

const FAULTY: Refused[] = [
  ['none at all', '{}', {}, /: id is missing.* name is missing/],
  ['no name', '{"id": 1}', {}, /: name is missing/],
  ['a tag alone', '{"tag": null}', {}, /: id is missing.* name is missing.* tag is null/],
  ['all wrong', '{"id": "x", "name": 1, "tag": []}', {}, /: id is a string.* name is the number 1.* tag is an array/],
  ['two wrong', '{"id": 1.5, "name": "\\u0000"}', {}, /: id is the number 1\.5.* name contains U\+0000/],
  ['other letters', '{"ID": 1, " name": "Rose"}', {}, /: id is missing.* name is missing/],
  ['a plant within', '{"plant": {"id": 1, "name": "Rose"}}', {}, /: id is missing.* name is missing/],
];

const DEPTH = 50_000;
const deepArray = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
const deepObject = '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH);

const IGNORED: [what: string, members: string][] = [
  ['scalars', '"size": 1e400, "alive": true, "notes": null, "colour": "red"'],
  ['text that cannot be stored', '"notes": "\\u0000\\ud800"'],
  ['numbers out of every range', '"size": 1e999999999, "weight": -0.1e-999999999'],
  ['containers', '"pots": [{}, [], {"id": 2}], "owner": {"id": 3, "name": "Eve", "tag": "x"}'],
  ['keys in other letters', '"Id": 2, "NAME": "Fern", "Tag": "x", "tag ": "x", "": "x"'],
  ['names of columns', '"idempotencyKey": "x", "idempotency_key": "x", "createdAt": 1'],
  ['names of the prototype', '"toString": null, "hasOwnProperty": 1, "then": "x"'],
  ['50,000 arrays in each other', `"deep": ${deepArray}`],
  ['50,000 objects in each other', `"deep": ${deepObject}`],
  ['10,000 fields', Array.from({ length: 10_000 }, (_, i) => `"field${i}": ${i}`).join()],
];

/** Keys by which a prototype could be reached. */
const OF_PROTOTYPES: [what: string, members: string][] = [
  ['__proto__', '"__proto__": {"id": 2, "name": "Fern", "tag": "x"}'],
  ['__proto__ as escapes', '"\\u005f_proto__": {"tag": "x"}'],
  ['constructor', '"constructor": {"prototype": {"tag": "x"}}'],
];

/** @param readsPrototypes whether bodies with such keys reach the store: Fastify's own parser refuses them */
export function describeFields(target: () => ContractTarget, readsPrototypes = true): void {
  describe('missing and wrong fields', () => {
    itShouldRefuse(target, 40003, FAULTY);
    if (readsPrototypes)
      itShouldRefuse(target, 40003, [['those of a prototype', '{"__proto__": {"id": 1, "name": "Rose"}}']]);
  });

  describe('a plant with fields that none has', () => {
    const ignored = [...IGNORED, ...(readsPrototypes ? OF_PROTOTYPES : [])];
    const texts = { name: 'Rose', tag: 'flower' };
    itShouldAccept(target, [
      ...ignored.map(([what, more]): Accepted => [
        `${what}, first`,
        `{${more}, "id": 1, "name": "Rose"}`,
        { name: 'Rose' },
      ]),
      ...ignored.map(([what, more]): Accepted => [what, `{"id": 1, "name": "Rose", "tag": "flower", ${more}}`, texts]),
    ]);
  });
}
