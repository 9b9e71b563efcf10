import { describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/http/request.js';
import { type ContractTarget, expectCreated, itShouldRefuse, storedPlants } from './contract-target.js';

export function describeTakenIds(target: () => ContractTarget): void {
  describe('an id that is taken', () => {
    it.each(['1', '-9223372036854775808', '9007199254740993'])('should keep its first plant: %s', async (id) => {
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
  ['another tag', ROSE, '{"id": 1, "name": "Rose", "tag": "shrub"}'],
  ['no tag', ROSE, UNTAGGED],
  ['an empty tag', UNTAGGED, '{"id": 1, "name": "Rose", "tag": ""}'],
  ['a blank more', ROSE, '{"id": 1, "name": "Rose ", "tag": "flower"}'],
  ['other normalisation', '{"id": 1, "name": "\u00e9"}', '{"id": 1, "name": "e\u0301"}'],
];

const KEYS = ['x'.repeat(255), 'a,b', '"quoted"', "a'; --", '\u00e9'];
const RULE = /Idempotency-Key.* 1 to 255 characters/;

export function describeIdempotency(target: () => ContractTarget): void {
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
      expect(await storedPlants(target())).toHaveLength(1);
    });

    it.each(OTHER)('should not be used again with %s', async (_, first, second) => {
      await post(first, 'key');
      const stored = await storedPlants(target());
      expect(expectRefusal(await post(second, 'key'), 40902, target().errorStatus)).toContain('plant 1 ');
      expect(await storedPlants(target())).toEqual(stored);
      expect(await post(first, 'key')).toMatchObject({ status: 200 });
    });

    it('should not be bound by a request that was refused, and be another create with another id', async () => {
      expectRefusal(await post('{"id": 1, "name": null}', 'key'), 40003, target().errorStatus);
      expectCreated(await post(ROSE, 'key'), FLOWER);
      expectCreated(await post('{"id": 2, "name": "Fern"}', 'key'), { name: 'Fern' });
      expect(await storedPlants(target())).toHaveLength(2);
    });

    it.each([
      [undefined, 'key'],
      ['key', undefined],
      ['key', 'KEY'],
    ])('should find the id taken: first %s, then %s', async (first, second) => {
      await post(ROSE, first);
      expect(expectRefusal(await post(ROSE, second), 40901, target().errorStatus)).toContain('id 1 ');
      expect(await storedPlants(target())).toMatchObject([{ id: '1', idempotency_key: first ?? null }]);
    });

    itShouldRefuse(target, 40004, [
      ['empty', ROSE, { 'Idempotency-Key': '' }, RULE],
      ['nothing but blanks', ROSE, { 'Idempotency-Key': ' \t ' }, /is empty/],
      ['longer than 255 characters', ROSE, { 'Idempotency-Key': 'x'.repeat(256) }, /256 characters/],
      ['repeated', ROSE, { 'Idempotency-Key': ['a', 'a'] }, /is repeated/],
      ['repeated with nothing', ROSE, { 'Idempotency-Key': ['a', ''] }, /is repeated/],
    ]);
  });
}
