import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/http/refusal.js';
import {
  type ContractTarget,
  expectCreated,
  expectNothingWritten,
  removePlants,
  storedPlants,
} from './contract-target.js';

export function describeTakenIds(target: () => ContractTarget): void {
  describe('an id that is taken', () => {
    beforeEach(() => removePlants(target()));

    it.each(['1', '-9223372036854775808', '9007199254740993'])('should keep its first plant: %s', async (id) => {
      await target().post(`{"id": ${id}, "name": "Rose", "tag": "flower"}`);
      for (const body of [
        `{"id": ${id}, "name": "Rose", "tag": "flower"}`,
        `{"id": ${id}, "name": "Fern"}`,
        `{"id": ${id}.0, "name": "Fern", "tag": "x"}`,
      ]) {
        expect(expectRefusal(await target().post(body), 40901, target().errorStatus)).toContain(` ${id} `);
      }
      expect(await storedPlants(target())).toEqual([{ id, name: 'Rose', tag: 'flower', idempotency_key: null }]);
    });

    it('should not be the one that floats take it for', async () => {
      expectCreated(await target().post('{"id": 9007199254740992, "name": "Rose"}'), { name: 'Rose' });
      expectCreated(await target().post('{"id": 9007199254740993, "name": "Fern"}'), { name: 'Fern' });
      expect(await storedPlants(target())).toHaveLength(2);
    });

    it('should be given to exactly one of a hundred that ask for it at the same time', async () => {
      const names = Array.from({ length: 100 }, (_, i) => `Plant ${i}`);
      const responses = await Promise.all(names.map((name) => target().post(`{"id": 1, "name": "${name}"}`)));
      const created = names.filter((_, i) => responses[i]?.status === 200);
      expect(created).toHaveLength(1);
      for (const response of responses)
        if (response.status !== 200) expectRefusal(response, 40901, target().errorStatus);
      expect(await storedPlants(target())).toMatchObject([{ id: '1', name: created[0] }]);
    });

    it('should not block others at the same time', async () => {
      const numbers = Array.from({ length: 100 }, (_, i) => i);
      const bodies = numbers.map((id) => `{"id": ${id % 50}, "name": "Plant ${id}"}`);
      const responses = await Promise.all(bodies.map((body) => target().post(body)));
      for (const response of responses)
        if (response.status !== 200) expectRefusal(response, 40901, target().errorStatus);
      const winners = responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body) as unknown);
      expect(winners).toHaveLength(50);
      const stored = (await storedPlants(target())).map(({ name }) => ({ name }));
      expect(stored).toHaveLength(50);
      expect(stored).toEqual(expect.arrayContaining(winners));
    });
  });
}

const ROSE = '{"id": 1, "name": "Rose", "tag": "flower"}';
const UNTAGGED = '{"id": 1, "name": "Rose"}';

/** The request above, written in other ways. */
const SAME: [what: string, body: string][] = [
  ['as it was', ROSE],
  ['in another order', '{"tag": "flower", "name": "Rose", "id": 1}'],
  ['with the same number', '{"id": 1.0, "name": "Rose", "tag": "flower"}'],
  ['with escapes', '{"id": 1, "name": "\\u0052ose", "tag": "flo\\u0077er"}'],
  ['with other fields that are ignored', '{"id": 1, "name": "Rose", "tag": "flower", "size": 5}'],
];

const OTHER: [what: string, first: string, second: string][] = [
  ['another name', ROSE, '{"id": 1, "name": "Fern", "tag": "flower"}'],
  ['another tag', ROSE, '{"id": 1, "name": "Rose", "tag": "shrub"}'],
  ['no tag', ROSE, UNTAGGED],
  ['a tag', UNTAGGED, ROSE],
  ['an empty tag', UNTAGGED, '{"id": 1, "name": "Rose", "tag": ""}'],
  ['other letters', ROSE, '{"id": 1, "name": "rose", "tag": "flower"}'],
  ['a blank more', ROSE, '{"id": 1, "name": "Rose ", "tag": "flower"}'],
  ['other normalisation', '{"id": 1, "name": "\u00e9"}', '{"id": 1, "name": "e\u0301"}'],
];

const UUID = '8e03978e-40d5-43dd-bc93-6894a57f9324';
const KEYS = ['k', 'x'.repeat(255), 'a,b', '"quoted"', UUID, '0', 'a b', "'; --", '\u00e9'];

const BAD_KEYS: [what: string, key: string | string[], fault: RegExp][] = [
  ['empty', '', /empty/],
  ['nothing but blanks', ' \t ', /empty/],
  ['longer than 255 characters', 'x'.repeat(256), /256 characters/],
  ['far longer', 'x'.repeat(10_000), /10000 characters/],
  ['repeated', ['a', 'a'], /repeated/],
  ['repeated with another value', ['a', 'b'], /repeated/],
  ['repeated with nothing', ['a', ''], /repeated/],
];

export function describeIdempotency(target: () => ContractTarget): void {
  const post = (body: string, key?: string | string[]): ReturnType<ContractTarget['post']> =>
    target().post(body, { 'Idempotency-Key': key });

  describe('the Idempotency-Key', () => {
    it.each(KEYS)('should be stored with the plant, and make a repetition safe: %s', async (key) => {
      expectCreated(await post(ROSE, key), { name: 'Rose', tag: 'flower' });
      expectCreated(await post(ROSE, key), { name: 'Rose', tag: 'flower' });
      expectCreated(await post(ROSE, key), { name: 'Rose', tag: 'flower' });
      const stored = Buffer.from(key, 'utf8').toString('latin1');
      expect(await storedPlants(target())).toEqual([{ id: '1', name: 'Rose', tag: 'flower', idempotency_key: stored }]);
    });

    it('should make a repetition without a tag safe, and keep the tag absent', async () => {
      expectCreated(await post(UNTAGGED, 'key'), { name: 'Rose' });
      expectCreated(await post(UNTAGGED, 'key'), { name: 'Rose' });
    });

    it.each(SAME)('should know the request again %s', async (_, body) => {
      await post(ROSE, 'key');
      expectCreated(await post(body, 'key'), { name: 'Rose', tag: 'flower' });
      expect(await storedPlants(target())).toHaveLength(1);
    });

    it('should make twenty repetitions at the same time safe', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(ROSE, 'key')));
      for (const response of responses) expectCreated(response, { name: 'Rose', tag: 'flower' });
      expect(await storedPlants(target())).toHaveLength(1);
    });

    it.each(OTHER)('should not be used again with %s', async (_, first, second) => {
      await post(first, 'key');
      const stored = await storedPlants(target());
      expect(expectRefusal(await post(second, 'key'), 40902, target().errorStatus)).toContain('plant 1 ');
      expect(await storedPlants(target())).toEqual(stored);
      expect(await post(first, 'key')).toMatchObject({ status: 200 });
    });

    it('should be another create with another id', async () => {
      expectCreated(await post(ROSE, 'key'), { name: 'Rose', tag: 'flower' });
      expectCreated(await post('{"id": 2, "name": "Fern"}', 'key'), { name: 'Fern' });
      expect(await storedPlants(target())).toHaveLength(2);
    });

    it.each([
      ['none', 'one', undefined, 'key'],
      ['one', 'none', 'key', undefined],
      ['one', 'another', 'key', 'other'],
      ['one', 'the same in other letters', 'key', 'KEY'],
      ['none', 'none', undefined, undefined],
    ])('should find the id taken: first %s, then %s', async (_first, _second, first, second) => {
      await post(ROSE, first);
      const message = expectRefusal(await post(ROSE, second), 40901, target().errorStatus);
      expect(message).toContain('id 1 ');
      expect(await storedPlants(target())).toMatchObject([{ id: '1', idempotency_key: first ?? null }]);
    });

    it('should not be bound by a request that was refused', async () => {
      expectRefusal(await post('{"id": 1, "name": null}', 'key'), 40003, target().errorStatus);
      expectCreated(await post(ROSE, 'key'), { name: 'Rose', tag: 'flower' });
    });

    it.each(BAD_KEYS)('should not be %s', async (_, key, fault) => {
      const message = await expectNothingWritten(target(), await post(ROSE, key), 40004);
      expect(message).toMatch(fault);
      expect(message).toMatch(/Idempotency-Key.* 1 to 255 characters/);
    });
  });
}
