import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/http/refusal.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { removePlants, storedPlants } from './stored-plants.js';

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
      for (const response of responses.filter(({ status }) => status !== 200)) {
        expectRefusal(response, 40901, target().errorStatus);
      }
      expect(await storedPlants(target())).toMatchObject([{ id: '1', name: created[0] }]);
    });

    it('should not block others at the same time', async () => {
      const numbers = Array.from({ length: 100 }, (_, i) => i);
      const responses = await Promise.all(
        numbers.map((id) => target().post(`{"id": ${id % 50}, "name": "Plant ${id}"}`)),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(50);
      for (const response of responses.filter(({ status }) => status !== 200)) {
        expectRefusal(response, 40901, target().errorStatus);
      }
      const winners = responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body) as unknown);
      const stored = (await storedPlants(target())).map(({ name }) => ({ name }));
      expect(stored).toHaveLength(50);
      expect(stored).toEqual(expect.arrayContaining(winners));
    });
  });
}
