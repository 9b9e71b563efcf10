import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/http/refusal.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

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

export function describeIdentifiers(target: () => ContractTarget): void {
  describe('the id', () => {
    beforeEach(() => removePlants(target()));

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

    it.each(OTHER_VALUES)('should not be %s', async (_, written) => {
      const response = await target().post(`{"id": ${written}, "name": "Rose"}`);
      const message = await expectNothingWritten(target(), response, 40003);
      expect(message).toMatch(new RegExp(`\\bid\\b.* integer from ${MIN} to ${MAX}`));
      expect(message).not.toMatch(/\b(?:name|tag)\b/);
      expect(message.length).toBeLessThan(300);
    });
  });
}
