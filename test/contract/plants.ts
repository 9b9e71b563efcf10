import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectRefusal } from '../support/http/request.js';
import {
  type Accepted,
  type ContractTarget,
  expectCreated,
  itShouldAccept,
  itShouldRefuse,
  type Refused,
  removePlants,
  storedPlants,
} from './contract-target.js';

/**
 * All of the contract that a database has a part in: how plants are stored, ids that are taken, and repetitions.
 *
 * @param readsPrototypes whether bodies with keys of prototypes reach the store: Fastify's own parser refuses them
 */
export function describePlants(target: () => ContractTarget, readsPrototypes = true): void {
  describeIdempotency(target);
  describeNamesAndTags(target);
  describeFields(target, readsPrototypes);
  describeTakenIds(target);
  describeIdentifiers(target);
}

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
/** As many digits as a body holds. */
const MANY = 100_000;
const withId = (id: string): string => `{"id": ${id}, "name": "Rose"}`;

/** How an id is written, and the integer that it is. */
const INTEGERS: [written: string, id: string][] = [
  ['-0', '0'],
  ['9007199254740993', '9007199254740993'],
  [MAX, MAX],
  [MIN, MIN],
  ['5.0', '5'],
  ['0.05e0002', '5'],
  ['-92e17', '-9200000000000000000'],
  [`${MIN}000e-3`, MIN],
  [`7${'0'.repeat(MANY)}e-${MANY}`, '7'],
];

const OTHER_VALUES = [
  ...['9223372036854775808', '-9223372036854775809', `${MAX}.5`, '1.5', '5e-1', '1e999999999', '1e-999999999'],
  ...['9'.repeat(MANY), `5.${'0'.repeat(MANY)}1`, '"5"', 'true', 'null', '[5]', '{}'],
];

const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

export function describeIdentifiers(target: () => ContractTarget): void {
  describe('the id', () => {
    const integers = INTEGERS.map(([id, exact]): Accepted => [id.slice(0, 40), withId(id), { name: 'Rose' }, exact]);
    itShouldAccept(target, integers);

    it('should reach the disk exactly as it was sent, over all of int64', async () => {
      const property = fc.asyncProperty(fc.uniqueArray(ids, { minLength: 100, maxLength: 150 }), async (sent) => {
        await removePlants(target());
        const creates = sent.map((id) => target().post(`{"id": ${id}, "name": "${id}"}`));
        for (const { status } of await Promise.all(creates)) expect(status).toBe(200);
        const stored = (await storedPlants(target())).map(({ id, name }) => `${id} ${name}`);
        expect(stored.sort()).toEqual(sent.map((id) => `${id} ${id}`).sort());
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
  ['characters that normalisation replaces', '"e\u0301\u212b\ufb01"', 'e\u0301\u212b\ufb01'],
  ['an emoji, and one as escapes', '"🌹\\ud83c\\uDF39"', '🌹🌹'],
  ['noncharacters and a byte order mark', '"\uffff\ufeff\u{10ffff}"', '\uffff\ufeff\u{10ffff}'],
  ['control characters, quotes and slashes', '"\\u0001\\b\\f\u007f\\"\\\\\\/\'"', '\u0001\b\f\u007f"\\/\''],
  ['what looks like SQL and markup', '"\'); DROP TABLE plants; --<b>&amp;"', "'); DROP TABLE plants; --<b>&amp;"],
  ['a hundred kilobytes', `"${'ä'.repeat(50_000)}"`, 'ä'.repeat(50_000)],
];

const UNSTORABLE: [what: string, written: string, fault: RegExp][] = [
  ['U+0000', '"Ro\\u0000se"', /contains U\+0000.*PostgreSQL/],
  ['a lone high surrogate', '"\\ud800"', /surrogate.*PostgreSQL/],
  ['null', 'null', /null.*string/],
  ['a number beyond every float', '1e999', /number 1e999\b.*string/],
  ['an array', '["Rose"]', /array.*string/],
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

const IGNORED: [what: string, members: string][] = [
  ['what cannot be stored', '"size": 1e400, "weight": -0.1e-999999999, "alive": true, "notes": "\\u0000\\ud800"'],
  ['containers', '"pots": [{}, [], {"id": 2}], "owner": {"id": 3, "name": "Eve", "tag": "x"}'],
  ['keys in other letters', '"Id": 2, "NAME": "Fern", "Tag": "x", "tag ": "x", "": "x", "5": 1, "\\"5": 1'],
  ['names of columns and of methods', '"idempotency_key": "x", "createdAt": 1, "toString": null, "then": "x"'],
  ['15,000 objects in each other', `"deep": ${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`],
  ['5,000 fields', Array.from({ length: 5000 }, (_, i) => `"field${i}": ${i}`).join()],
];

/** Keys by which a prototype could be reached. */
const OF_PROTOTYPES = '"__proto__": {"id": 2, "tag": "x"}, "constructor": {"prototype": {"tag": "x"}}';

export function describeFields(target: () => ContractTarget, readsPrototypes: boolean): void {
  describe('missing and wrong fields', () => {
    itShouldRefuse(target, 40003, [
      ['a tag alone', '{"tag": null}', {}, /: id is missing.* name is missing.* tag is null/],
      ['all wrong', '{"id": "x", "name": 1, "tag": []}', {}, /: id is a string.* name is the number 1.* tag is an arr/],
      ['other letters', '{"ID": 1, " name": "Rose"}', {}, /: id is missing.* name is missing/],
    ]);
  });

  describe('a plant with fields that none has', () => {
    const ignored: typeof IGNORED = [...IGNORED];
    if (readsPrototypes) ignored.push(['those of a prototype', OF_PROTOTYPES]);
    itShouldAccept(
      target,
      ignored.map(([what, more]): Accepted => [what, `{"id": 1, ${more}, "name": "Rose"}`, { name: 'Rose' }]),
    );
  });
}

export function describeTakenIds(target: () => ContractTarget): void {
  describe('an id that is taken', () => {
    it('should keep its first plant', async () => {
      const id = '9007199254740993';
      await target().post(`{"id": ${id}, "name": "Rose", "tag": "flower"}`);
      for (const body of [`{"id": ${id}, "name": "Rose", "tag": "flower"}`, `{"id": ${id}.0, "name": "Fern"}`])
        expect(expectRefusal(await target().post(body), 40901, target().errorStatus)).toContain(` ${id} `);
      expect(await storedPlants(target())).toEqual([{ id, name: 'Rose', tag: 'flower', idempotency_key: null }]);
    });

    it('should be given to exactly one of those that ask for it at the same time, and not block others', async () => {
      const bodies = Array.from({ length: 100 }, (_, i) => `{"id": ${i % 10}, "name": "Plant ${i}"}`);
      const responses = await Promise.all(bodies.map((body) => target().post(body)));
      const created = responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body) as unknown);
      for (const response of responses)
        if (response.status !== 200) expectRefusal(response, 40901, target().errorStatus);
      const stored = (await storedPlants(target())).map(({ name }) => ({ name }));
      expect([stored.length, created.length]).toEqual([10, 10]);
      expect(stored).toEqual(expect.arrayContaining(created));
    });
  });
}

const ROSE = '{"id": 1, "name": "Rose", "tag": "flower"}';
const UNTAGGED = '{"id": 1, "name": "Rose"}';
const FLOWER = { name: 'Rose', tag: 'flower' };

const OTHER: [what: string, first: string, second: string][] = [
  ['another name', ROSE, '{"id": 1, "name": "Fern", "tag": "flower"}'],
  ['no tag', ROSE, UNTAGGED],
  ['an empty tag', UNTAGGED, '{"id": 1, "name": "Rose", "tag": ""}'],
  ['other normalisation', '{"id": 1, "name": "\u00e9"}', '{"id": 1, "name": "e\u0301"}'],
];

const KEYS = ['x'.repeat(255), 'a,b', '"quoted"', "a'; --", '\u00e9'];
const RULE = /Idempotency-Key.* 1 to 255 characters/;

function describeIdempotency(target: () => ContractTarget): void {
  const post = (body: string, key?: string | string[]): ReturnType<ContractTarget['post']> =>
    target().post(body, { 'Idempotency-Key': key });

  describe('the Idempotency-Key', () => {
    it.each(KEYS)('should be stored with the plant, and make a repetition safe: %s', async (key) => {
      // The same request, written in another way.
      for (const body of [ROSE, ROSE, '{"size": 5, "tag": "flo\\u0077er", "name": "Rose", "id": 1.0}'])
        expectCreated(await post(body, key), FLOWER);
      const stored = Buffer.from(key, 'utf8').toString('latin1');
      expect(await storedPlants(target())).toEqual([{ id: '1', ...FLOWER, idempotency_key: stored }]);
    });

    it('should make repetitions at the same time safe, and keep the tag absent', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(UNTAGGED, 'key')));
      for (const response of responses) expectCreated(response, { name: 'Rose' });
    });

    it.each(OTHER)('should not be used again with %s', async (_, first, second) => {
      await post(first, 'key');
      expect(expectRefusal(await post(second, 'key'), 40902, target().errorStatus)).toContain('plant 1 ');
      expect(await post(first, 'key')).toMatchObject({ status: 200 });
    });

    it('should not be bound by a request that was refused, and be another create with another id', async () => {
      expectRefusal(await post('{"id": 1, "name": null}', 'key'), 40003, target().errorStatus);
      expectCreated(await post(ROSE, 'key'), FLOWER);
      expectCreated(await post('{"id": 2, "name": "Fern"}', 'key'), { name: 'Fern' });
      expect(await storedPlants(target())).toHaveLength(2);
    });

    it('should find the id taken without the key, or with another one', async () => {
      await post(ROSE, 'key');
      for (const second of [undefined, 'KEY'])
        expect(expectRefusal(await post(ROSE, second), 40901, target().errorStatus)).toContain('id 1 ');
    });

    itShouldRefuse(target, 40004, [
      ['empty', ROSE, { 'Idempotency-Key': '' }, RULE],
      ['longer than 255 characters', ROSE, { 'Idempotency-Key': 'x'.repeat(256) }, /256 characters/],
      ['repeated', ROSE, { 'Idempotency-Key': ['a', 'a'] }, /is repeated/],
    ]);
  });
}
