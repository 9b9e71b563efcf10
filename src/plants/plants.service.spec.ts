import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validateSync } from 'class-validator';
import fc from 'fast-check';
import { checkPlant, INT64_MAX, INT64_MIN, NewPlant, parseInt64 } from './new-plant.js';
import type { PlantRecord, PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const PLANT = { id: 1n, name: 'Rose' };

describe(PlantsService.name, () => {
  const stored: PlantRecord[] = [];
  const create = (plant: PlantRecord): Promise<unknown> => Promise.resolve(stored.push(plant));
  const service = new PlantsService({ create } as unknown as PlantsRepository);
  beforeEach(() => void stored.splice(0));

  it.each<[unknown, key: string | undefined, error: number, message: string]>([
    [undefined, undefined, 40003, 'id is missing; it must be an integer from'],
    [{ ...PLANT, id: 5 }, 'key', 40003, 'id is the number 5, which may have been rounded; it must be a bigint'],
    [{ id: 2n ** 63n, name: 7n, tag: [] }, 'key', 40003, 'id is 9223372036854775808; '],
    [PLANT, '\0', 40004, 'contains U+0000'],
    [PLANT, '\udc00', 40004, 'half a character'],
  ])('should refuse what no request could have sent, and store nothing (%#)', async (plant, key, error, message) => {
    const creating = service.create(plant as never, { idempotencyKey: key });
    await expect(creating).rejects.toMatchObject({ error, message: expect.stringContaining(message) as unknown });
    // The same faults for class-validator, with which an application may check a plant.
    const errors = validateSync(plainToInstance(NewPlant, plant ?? {}));
    const faults = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
    if (error === 40003) await expect(creating).rejects.toThrow(`This is not a plant: ${faults.join('. ')}.`);
    else expect(faults).toEqual([]);
    expect(stored).toEqual([]);
  });

  it('should refuse a creator whose name cannot be stored', async () => {
    const named = ['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name) => ({ name }));
    for (const creator of [...named, 'import', null]) {
      const creating = service.create(PLANT, { creator } as never);
      const message = expect.stringMatching(/^creator: its name .*, should be \{ name \} with 1 to 255 characters/);
      await expect(creating).rejects.toMatchObject({ name: TypeError.name, message });
    }
    expect(stored).toEqual([]);
  });
});

describe(checkPlant.name, () => {
  const faultOf = (plant: unknown): string => {
    try {
      checkPlant(plant);
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('should have class-validator word each fault, and ask it of no good plant', () => {
    const ask = jest.spyOn(getMetadataStorage(), 'getTargetValidationMetadatas');
    expect(checkPlant({ ...PLANT, other: 1, tag: undefined })).toEqual(PLANT);
    expect(ask).not.toHaveBeenCalled();
    expect(faultOf({ id: 1n, tag: null })).toBe(
      'This is not a plant: name is missing; it must be a string. tag is null; it must be a string, or leave it out.',
    );
    expect(ask).toHaveBeenCalled();
    ask.mockRestore();
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  let deep: unknown[] = [];
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  const thrower = Object.defineProperty({ ...PLANT }, 'name', {
    get: () => {
      throw new Error('of a getter');
    },
  });
  const trap = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error('of a trap');
      },
    },
  );

  it.each<[string, unknown, string]>([
    ['a cycle', { ...PLANT, name: cycle }, 'name is an array; it must be a string.'],
    ['100,000 levels', { ...PLANT, name: deep }, 'name is an array; it must be a string.'],
    ['a getter that throws', thrower, 'name cannot be read; it must be a string.'],
    ['a Proxy that throws', { ...PLANT, tag: trap }, 'tag cannot be read; it must be a string.'],
    ['a function', { ...PLANT, name: () => 'Rose' }, 'name is a function; it must be a string.'],
    ['a symbol', { ...PLANT, name: Symbol('Rose') }, 'name is a symbol; it must be a string.'],
  ])('should name %s as any other fault', (_, plant, fault) => {
    expect(faultOf(plant)).toBe(`This is not a plant: ${fault}`);
  });
});

describe(parseInt64.name, () => {
  /** A number as JSON may write it, near the ends of int64 and with zeros that an exponent takes back for the most part. */
  const numbers = fc.record({
    sign: fc.constantFrom('', '-'),
    digits: fc
      .oneof(fc.bigInt({ min: 0n, max: 2n ** 66n }), fc.constantFrom(0n, 5n, 2n ** 63n - 1n, 2n ** 63n))
      .map(String),
    zeros: fc.nat(25),
    fraction: fc.oneof(fc.constantFrom('', '0', '000'), fc.nat(999).map(String)),
    shift: fc.integer({ min: -2, max: 20 }),
  });

  it('should read every int64, however it is written, and nothing else: as arithmetic without rounding says', () => {
    let accepted = 0;
    const property = fc.property(numbers, ({ sign, digits, zeros, fraction, shift }) => {
      const exponent = shift - zeros;
      const source = `${sign}${digits}${'0'.repeat(zeros)}${fraction && `.${fraction}`}e${exponent}`;
      const scaled = BigInt(digits + '0'.repeat(zeros) + fraction) * 10n ** BigInt(Math.max(0, exponent));
      const divisor = 10n ** BigInt(fraction.length + Math.max(0, -exponent));
      const value = (sign === '-' ? -scaled : scaled) / divisor;
      const isInt64 = scaled % divisor === 0n && value >= INT64_MIN && value <= INT64_MAX;
      expect(parseInt64(source)).toBe(isInt64 ? value : undefined);
      if (isInt64) accepted += 1;
    });
    fc.assert(property, { numRuns: 2000 });
    expect(accepted).toBeGreaterThan(200);
    expect(['NaN', '', '0x10', '1e99999999999999999999999999'].map(parseInt64)).toEqual(Array(4).fill(undefined));
  });
});
