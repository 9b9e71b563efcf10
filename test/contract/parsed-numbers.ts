import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

/** Numbers that JSON.parse gives for no other integer. */
const KNOWN = ['0', '-1', '5.0', '5e0', '9007199254740991', '-9007199254740991'];
const ROUNDED = ['9007199254740992', '9007199254740993', '-9223372036854775808', '1e19', '1e400'];
const NO_PLANT: [body: string, error: number][] = [
  ['{"id": 1.5, "name": [], "tag": null}', 40003],
  ['{"id": "1", "name": "Rose"}', 40003],
  ['{"id": 1}', 40003],
  ['[]', 40001],
];

/** For a host whose own parser has read the body, and not kept it. */
export function describeParsedNumbers(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe('an id that was parsed before', () => {
    it.each(KNOWN)('should be taken exactly: %s', async (id) => {
      expectCreated(await target().post(`{"id": ${id}, "name": "Rose"}`), { name: 'Rose' });
      expect(await storedPlants(target())).toMatchObject([{ id: String(Number(id)), name: 'Rose' }]);
    });

    it.each(ROUNDED)('should be refused if it may have been rounded, saying what to switch on: %s', async (id) => {
      const response = await target().post(`{"id": ${id}, "name": "Rose"}`);
      const message = await expectNothingWritten(target(), response, 40003);
      expect(message).toMatch(/: id .*exemptPlantsFromBodyParser.*`rawBody: true`/);
    });
  });

  it('should not hide the other faults if it may have been rounded', async () => {
    const response = await target().post('{"id": 1e300, "name": 1e300}');
    const message = await expectNothingWritten(target(), response, 40003);
    expect(message).toMatch(/: id .*name is a number; it must be a string/);
  });

  it.each(NO_PLANT)('should refuse what is no plant, parsed before: %s', async (body, error) => {
    await expectNothingWritten(target(), await target().post(body), error);
  });
}
