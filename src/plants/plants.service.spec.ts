import { describe, expect, it } from '@jest/globals';
import type { PlantRecord } from './plant-statements.js';
import type { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const PLANT = { id: 1n, name: 'Rose' };

describe(PlantsService.name, () => {
  function serviceWith(stored: PlantRecord[]): PlantsService {
    const create = (plant: PlantRecord): Promise<void> => {
      stored.push(plant);
      return Promise.resolve();
    };
    const repository = { create } as unknown as PlantsRepository;
    return new PlantsService(repository);
  }

  it.each([
    [{ id: 2n ** 63n - 1n, name: '', tag: '🌹' }, 'key'],
    [{ id: -(2n ** 63n), name: 'Rose' }, 'k'.repeat(255)],
  ])('should store what a request could have sent (%#)', async (plant, key) => {
    const stored: PlantRecord[] = [];
    const answer = await serviceWith(stored).create(plant, { idempotencyKey: key });
    expect(plant).toMatchObject(answer);
    expect(answer).not.toHaveProperty('id');
    expect(stored).toMatchObject([{ tag: null, ...plant, idempotencyKey: key, createdBy: null }]);
  });

  it.each<[unknown, ...messages: string[]]>([
    [undefined, 'id is missing', 'name is missing'],
    [null, 'id is missing'],
    ['Rose', 'id is missing'],
    [{ id: 1n }, 'name is missing; it must be a string'],
    [{ name: 'Rose' }, 'id is missing; it must be an integer from'],
    [{ ...PLANT, id: 5 }, 'id is the number 5, which may have been rounded; it must be a bigint, such as 1n'],
    [{ ...PLANT, id: '5' }, 'id is a string'],
    [{ ...PLANT, id: 2n ** 64n }, 'id is 18446744073709551616; it must be an integer from'],
    [{ ...PLANT, name: '\ud800' }, 'name contains a lone surrogate'],
    [{ ...PLANT, name: 'Ro\0se' }, 'name contains U+0000'],
    [{ ...PLANT, name: 7n }, 'name is 7'],
    [{ ...PLANT, tag: null }, 'tag is null; it must be a string'],
    [{ ...PLANT, tag: [] }, 'tag is an array'],
    [{ ...PLANT, tag: Symbol('flower') }, 'tag is a symbol'],
    [{ id: 1.5, name: 3 }, 'id is the number 1.5', 'name is 3'],
  ])('should refuse what is no plant, and store nothing (%#)', async (plant, ...messages) => {
    const stored: PlantRecord[] = [];
    const creating = serviceWith(stored).create(plant as never);
    await expect(creating).rejects.toMatchObject({ error: 40003 });
    for (const message of messages) await expect(creating).rejects.toThrow(message);
    expect(stored).toEqual([]);
  });

  it.each([
    ['', 'is empty'],
    ['k'.repeat(256), 'has 256 characters'],
    ['\0', 'contains U+0000'],
    ['\udc00', 'half a character'],
  ])('should refuse a key that no request could have sent (%#)', async (key, message) => {
    const stored: PlantRecord[] = [];
    const creating = serviceWith(stored).create(PLANT, { idempotencyKey: key });
    await expect(creating).rejects.toMatchObject({ error: 40004 });
    await expect(creating).rejects.toThrow(message);
    expect(stored).toEqual([]);
  });

  it('should store who creates a plant', async () => {
    const stored: PlantRecord[] = [];
    const service = serviceWith(stored);
    await service.create(PLANT, { creator: { name: 'import' } });
    await service.create({ ...PLANT, id: 2n }, { creator: { name: 'alice' } });
    await service.create({ ...PLANT, id: 3n });

    expect(stored.map(({ createdBy }) => createdBy)).toEqual(['import', 'alice', null]);
  });

  it.each([[''], ['n'.repeat(256)], ['a\0'], ['\ud800'], [undefined], [5]])(
    'should refuse a creator whose name cannot be stored (%#)',
    async (name) => {
      const stored: PlantRecord[] = [];
      const creating = serviceWith(stored).create(PLANT, { creator: { name } as never });
      await expect(creating).rejects.toThrow(/^creator: its name cannot be stored, .* 1 to 255 characters/);
      expect(stored).toEqual([]);
    },
  );

  it.each<[unknown, ...message: string[]]>([
    [{ creator: 'import' }, 'creator: its name cannot be stored, should be { name } with 1 to 255 characters'],
    [{ creator: null }, 'creator: its name cannot be stored'],
    [{ transaction: undefined }, 'transaction: is undefined, should be a client of pg after BEGIN, '],
    [{ transaction: 'BEGIN' }, 'transaction: is a string, should be '],
    [{ transaction: {} }, 'transaction: is an object, should be '],
  ])('should refuse options that it cannot use (%#)', async (options, message) => {
    const stored: PlantRecord[] = [];
    const creating = serviceWith(stored).create(PLANT, options as never);
    await expect(creating).rejects.toThrow(TypeError);
    await expect(creating).rejects.toThrow(message);
    expect(stored).toEqual([]);
  });
});
